// Numbers of 8 bits: the arithmetic of the kernels against that of the host.

#include "emulate/number.hpp"
#include "emulate/random.hpp"
#include "ptx/element.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace hotgemm::emulate {
namespace {

struct Format {
  const char* name;
  float (*widen)(std::uint8_t);    ///< of the host
  std::uint8_t (*narrow)(double);  ///< of the host
  float (*kernel_widen)(u32);
  u32 (*kernel_narrow)(float);
  float largest;
};

float widen_e4m3_of_kernels(u32 bits) { return ptx::widen_e4m3(bits); }
float widen_e5m2_of_kernels(u32 bits) { return ptx::widen_e5m2(bits); }
u32 narrow_e4m3_of_kernels(float value) { return ptx::round_e4m3_f32(value); }
u32 narrow_e5m2_of_kernels(float value) { return ptx::round_e5m2_f32(value); }

const std::vector<Format> kFormats = {
    {"e4m3", widen_e4m3, narrow_e4m3, widen_e4m3_of_kernels, narrow_e4m3_of_kernels, 448},
    {"e5m2", widen_e5m2, narrow_e5m2, widen_e5m2_of_kernels, narrow_e5m2_of_kernels, 57344}};

TEST(Fp8, HasTheNumbersOfItsSpecification) {
  EXPECT_EQ(widen_e4m3(0x38), 1.0f);
  EXPECT_EQ(widen_e4m3(0xb9), -1.125f);
  EXPECT_EQ(widen_e4m3(0x01), 0x1p-9f);
  EXPECT_EQ(widen_e4m3(0x07), 0x7p-9f);
  EXPECT_EQ(widen_e4m3(0x08), 0x1p-6f);
  EXPECT_EQ(widen_e4m3(0x7e), 448.0f);
  EXPECT_TRUE(std::isnan(widen_e4m3(0x7f)));
  EXPECT_TRUE(std::isnan(widen_e4m3(0xff)));
  EXPECT_EQ(widen_e5m2(0x3c), 1.0f);
  EXPECT_EQ(widen_e5m2(0xc1), -2.5f);
  EXPECT_EQ(widen_e5m2(0x01), 0x1p-16f);
  EXPECT_EQ(widen_e5m2(0x04), 0x1p-14f);
  EXPECT_EQ(widen_e5m2(0x7b), 57344.0f);
  EXPECT_EQ(widen_e5m2(0xfc), -std::numeric_limits<float>::infinity());
  for (const int nan : {0x7d, 0x7e, 0x7f, 0xfd}) EXPECT_TRUE(std::isnan(widen_e5m2(static_cast<std::uint8_t>(nan))));
}

TEST(Fp8, KernelsWidenEveryNumberAsTheHostDoes) {
  for (const Format& format : kFormats) {
    for (int bits = 0; bits < 256; ++bits) {
      const float host = format.widen(static_cast<std::uint8_t>(bits));
      const float kernel = format.kernel_widen(static_cast<u32>(bits));
      if (std::isnan(host)) {
        EXPECT_TRUE(std::isnan(kernel)) << format.name << " " << bits;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(kernel), std::bit_cast<std::uint32_t>(host))
            << format.name << " " << bits;
      }
    }
  }
}

/// All numbers of the format, those between two of them, their neighbours in f32, and random bits.
std::vector<float> interesting_values(const Format& format) {
  std::vector<float> values = {0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf("")};
  for (const float beyond : {1.0f, 1.03f, 1.07f, 2.0f}) values.push_back(format.largest * beyond);
  values.push_back(std::nextafter(format.largest, 0.0f));
  values.push_back(std::numeric_limits<float>::max());
  for (int bits = 0; bits < 0x7e; ++bits) {
    const float low = format.widen(static_cast<std::uint8_t>(bits));
    const float high = format.widen(static_cast<std::uint8_t>(bits + 1));
    for (const float value : {low, (low + high) / 2}) {
      for (const float near : {std::nextafter(value, -1e30f), value, std::nextafter(value, 1e30f)}) {
        values.push_back(near);
        values.push_back(-near);
      }
    }
  }
  Random random(7);
  for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<float>(random.below(0xffffffffu)));
  for (int i = 0; i < 20000; ++i)
    values.push_back(static_cast<float>(random.below(1u << 20)) * format.largest * 0x1.1p-20f);
  return values;
}

TEST(Fp8, RoundsToTheNearestNumberAndTiesToEven) {
  for (const Format& format : kFormats) {
    for (const float value : interesting_values(format)) {
      const std::uint8_t bits = format.narrow(value);
      ASSERT_EQ(format.kernel_narrow(value), bits) << format.name << " of " << value;
      if (std::isnan(value)) {
        ASSERT_EQ(bits, 0x7f) << format.name;
        continue;
      }
      ASSERT_EQ((bits & 0x80) != 0, std::signbit(value)) << format.name << " of " << value;
      const double wanted = std::min<double>(std::abs(value), format.largest);
      const double found = std::abs(format.widen(bits));
      for (int other = 0; other < 0x7f; ++other) {
        const double candidate = format.widen(static_cast<std::uint8_t>(other));
        if (candidate > format.largest) break;
        const double nearer = std::abs(candidate - wanted) - std::abs(found - wanted);
        ASSERT_GE(nearer, 0) << format.name << " of " << value << " is " << found << ", but " << candidate
                             << " is nearer";
        if (nearer == 0 && candidate != found) {
          ASSERT_EQ(bits & 1, 0) << format.name << " of the tie " << value;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotgemm::emulate
