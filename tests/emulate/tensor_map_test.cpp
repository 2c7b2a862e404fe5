#include "emulate/tensor_map.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

namespace hotgemm::emulate {
namespace {

/// 300 rows of 200 f16, 416 bytes apart, copied in boxes of 64 × 128.
TensorMapSpec good_spec() {
  return {.base = 0x10000,
          .element = DType::f16,
          .swizzle = TensorSwizzle::bytes_128,
          .rank = 2,
          .sizes = {200, 300},
          .strides = {2, 416},
          .box = {64, 128}};
}

TEST(TensorMap, KeepsItsSpec) {
  const TensorMap map = encode(good_spec());
  ASSERT_TRUE(decode(map).has_value());
  EXPECT_EQ(*decode(map), good_spec());
  EXPECT_FALSE(decode(TensorMap{}).has_value());
}

TEST(TensorMap, HasTheRulesOfTheDriver) {
  const std::pair<const char*, std::function<void(TensorMapSpec&)>> broken[] = {
      {"1 to 5 dimensions", [](TensorMapSpec& s) { s.rank = 6; }},
      {"address", [](TensorMapSpec& s) { s.base += 8; }},
      {"side by side", [](TensorMapSpec& s) { s.strides[0] = 4; }},
      {"sizes", [](TensorMapSpec& s) { s.sizes[1] = 0; }},
      {"boxes", [](TensorMapSpec& s) { s.box[1] = 257; }},
      {"strides that are multiples", [](TensorMapSpec& s) { s.strides[1] = 408; }},
      {"strides below", [](TensorMapSpec& s) { s.strides[1] = std::uint64_t{1} << 40; }},
      {"rows of a box that", [](TensorMapSpec& s) { s.box[0] = 60; }},
      {"at most 128 bytes", [](TensorMapSpec& s) { s.box[0] = 72; }},
      {"at most 32 bytes", [](TensorMapSpec& s) { s.swizzle = TensorSwizzle::bytes_32; }},
  };
  for (const auto& [rule, breaks] : broken) {
    TensorMapSpec spec = good_spec();
    breaks(spec);
    try {
      encode(spec);
      ADD_FAILURE() << rule;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
    }
  }
}

TEST(TensorMap, ElementsOutsideHaveNoAddress) {
  const auto at = [](std::int64_t col, std::int64_t row) {
    const std::int64_t coordinates[] = {col, row};
    return element_address(good_spec(), coordinates);
  };
  EXPECT_EQ(at(0, 0), 0x10000u);
  EXPECT_EQ(at(199, 299), 0x10000u + 199 * 2 + 299 * 416);
  for (const auto& [col, row] : {std::pair{-1, 0}, {200, 0}, {0, -1}, {0, 300}}) EXPECT_EQ(at(col, row), std::nullopt);
}

TEST(TensorMap, SwizzlesSpreadRowsOverTheBanks) {
  for (const auto& [swizzle, row_bytes, groups] : {std::tuple{TensorSwizzle::none, 128u, 1u},
                                                   {TensorSwizzle::bytes_32, 32u, 8u},
                                                   {TensorSwizzle::bytes_64, 64u, 8u},
                                                   {TensorSwizzle::bytes_128, 128u, 8u}}) {
    std::set<std::uint32_t> places, bank_groups;
    for (std::uint32_t offset = 0; offset < 4096; offset += 16) {
      places.insert(swizzled(swizzle, offset));
      EXPECT_EQ(swizzled(swizzle, offset) / 128, offset / 128) << "a chunk has left its row";
    }
    EXPECT_EQ(places.size(), 256u);
    for (std::uint32_t row = 0; row < 8; ++row) bank_groups.insert(swizzled(swizzle, row * row_bytes) % 128);
    EXPECT_EQ(bank_groups.size(), groups);
  }
}

}  // namespace
}  // namespace hotgemm::emulate
