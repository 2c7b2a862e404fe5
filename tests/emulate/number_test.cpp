#include "emulate/number.hpp"
#include "standin/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace hotgemm::emulate {
namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Numbers, WideningIsThatOfTheStandIn) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto h = static_cast<std::uint16_t>(i);
    if (std::isnan(standin::widen_f16(h))) {
      ASSERT_EQ(bits(widen_f16(h)), kNanF32);
    } else {
      ASSERT_EQ(bits(widen_f16(h)), bits(standin::widen_f16(h))) << i;
    }
    ASSERT_EQ(bits(widen_bf16(h)), bits(standin::widen_bf16(h))) << i;
  }
}

TEST(Numbers, NarrowingUndoesWidening) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto h = static_cast<std::uint16_t>(i);
    if (!std::isnan(widen_f16(h))) {
      ASSERT_EQ(narrow_f16(widen_f16(h)), h);
    }
    if (!std::isnan(widen_bf16(h))) {
      ASSERT_EQ(narrow_bf16(widen_bf16(h)), h);
    }
  }
}

/// The stand-in driver has its own implementation of narrowing, with integer arithmetic.
TEST(Numbers, NarrowingIsThatOfTheStandIn) {
  std::mt19937 random(1);
  const auto check = [](float value) {
    ASSERT_EQ(narrow_f16(value), standin::narrow_f16(value)) << value;
    ASSERT_EQ(narrow_bf16(value), standin::narrow_bf16(value)) << value;
  };
  for (int i = 0; i < 1'000'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_NO_FATAL_FAILURE(check(value));
  }
  // Values halfway between two f16, and the values next to these.
  for (std::uint32_t i = 0; i < 0x7c00; ++i) {
    const double low = widen_f16(static_cast<std::uint16_t>(i));
    const double high = i + 1 == 0x7c00 ? 65536.0 : widen_f16(static_cast<std::uint16_t>(i + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f), -middle}) {
      ASSERT_NO_FATAL_FAILURE(check(value));
    }
  }
}

TEST(Numbers, NansAreCanonical) {
  const float nan = std::bit_cast<float>(0xffc12345u);
  EXPECT_EQ(narrow_f16(nan), 0x7fffu);
  EXPECT_EQ(narrow_bf16(nan), 0x7fffu);
  EXPECT_EQ(bits(narrow_f32(static_cast<double>(nan))), 0x7fffffffu);
  EXPECT_EQ(bits(widen_f16(0xfe01)), 0x7fffffffu);
}

TEST(Numbers, ADoubleIsRoundedOnce) {
  // Rounded to f32 first, this value would be a tie and would then round to even.
  EXPECT_EQ(narrow_f16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01u);
  EXPECT_EQ(narrow_f16(1.0 + 0x1p-11), 0x3c00u);
}

/// Compares with exact sums, computed in 128 bits as multiples of the smallest product.
TEST(Numbers, FmaF16IsRoundedOnce) {
  std::mt19937 random(3);
  const auto scaled = [](float value, int exponent) { return static_cast<__int128>(std::ldexp(value, exponent)); };
  const auto check = [&](std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    const float x = widen_f16(a), y = widen_f16(b), z = widen_f16(c);
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) return;
    const __int128 exact = scaled(x, 24) * scaled(y, 24) + (scaled(z, 24) << 24);
    // Rounds to a double by "round to odd": if bits are lost, the last bit is set.
    unsigned __int128 magnitude =
        exact < 0 ? -static_cast<unsigned __int128>(exact) : static_cast<unsigned __int128>(exact);
    int shift = 0;
    bool rest = false;
    for (; magnitude >> 52 != 0; ++shift, magnitude >>= 1) rest = rest || (magnitude & 1) != 0;
    const double value =
        std::ldexp(static_cast<double>(static_cast<std::uint64_t>(magnitude) | (rest ? 1u : 0u)), shift - 48);
    const std::uint16_t expected = narrow_f16(exact < 0 ? -value : value);
    const std::uint16_t found = fma_f16(a, b, c);
    if (exact == 0) {
      ASSERT_EQ(found & 0x7fffu, 0u);
    } else {
      ASSERT_EQ(found, expected) << x << " * " << y << " + " << z;
    }
  };
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_NO_FATAL_FAILURE(check(static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(random()),
                                  static_cast<std::uint16_t>(random())));
  }
  // 683 * 3 = 2049 is a tie in f16. Adding the smallest number breaks the tie.
  const std::uint16_t x = narrow_f16(683), y = narrow_f16(3), tiny = 1;
  ASSERT_EQ(fma_f16(x, y, 0), narrow_f16(2048));
  ASSERT_EQ(fma_f16(x, y, tiny), narrow_f16(2050));
  ASSERT_EQ(fma_f16(x, y, static_cast<std::uint16_t>(tiny | 0x8000u)), narrow_f16(2048));
  ASSERT_EQ(fma_f16(kNan16, tiny, tiny), kNan16);
}

}  // namespace
}  // namespace hotgemm::emulate
