#include "standin/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hotgemm::standin {
namespace {

/// The exact value of a finite binary16, from the format's definition.
double exact_f16(unsigned bits) {
  const int exponent = static_cast<int>((bits >> 10) & 31u), fraction = static_cast<int>(bits & 0x3ffu);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

TEST(Element, EveryF16SurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const float value = widen_f16(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7fffu) > 0x7c00u) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_EQ(narrow_f16(value), 0x7fffu) << bits;
      continue;
    }
    if ((bits & 0x7fffu) < 0x7c00u) {
      EXPECT_EQ(static_cast<double>(value), exact_f16(bits)) << bits;
    }
    EXPECT_EQ(narrow_f16(value), bits);
  }
}

TEST(Element, F16RoundsToNearestEvenBetweenAllNeighbours) {
  for (unsigned bits = 0; bits < 0x7bffu; ++bits) {
    const double low = exact_f16(bits), high = exact_f16(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact: it needs only one more bit
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(narrow_f16(middle), even) << bits;
    ASSERT_EQ(narrow_f16(-middle), even | 0x8000u) << bits;
    ASSERT_EQ(narrow_f16(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(narrow_f16(std::nextafter(middle, 1e9f)), bits + 1) << bits;
  }
}

TEST(Element, F16OverflowsToInfinity) {
  EXPECT_EQ(narrow_f16(65519.996f), 0x7bffu);
  EXPECT_EQ(narrow_f16(65520.0f), 0x7c00u);
  EXPECT_EQ(narrow_f16(-std::numeric_limits<float>::infinity()), 0xfc00u);
}

TEST(Element, EveryBf16SurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const float value = widen_bf16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(widen_bf16(narrow_bf16(value))));
    } else {
      EXPECT_EQ(narrow_bf16(value), bits);
    }
  }
}

TEST(Element, Bf16RoundsToNearestEvenBetweenAllNeighbours) {
  for (unsigned bits = 0; bits < 0x7f7fu; ++bits) {
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000u);
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(narrow_bf16(middle), even) << bits;
    ASSERT_EQ(narrow_bf16(std::bit_cast<float>((bits << 16) | 0x7fffu)), bits) << bits;
    ASSERT_EQ(narrow_bf16(std::bit_cast<float>((bits << 16) | 0x8001u)), bits + 1) << bits;
  }
}

}  // namespace
}  // namespace hotgemm::standin
