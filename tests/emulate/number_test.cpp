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

/// The stand-in driver narrows by integer arithmetic of its own.
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
  // Halfway between two f16, and next to that.
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
  // By way of f32 this would be a tie, and round to even.
  EXPECT_EQ(narrow_f16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01u);
  EXPECT_EQ(narrow_f16(1.0 + 0x1p-11), 0x3c00u);
}

}  // namespace
}  // namespace hotgemm::emulate
