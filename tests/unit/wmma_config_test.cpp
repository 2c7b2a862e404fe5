#include "shared/wmma_config.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hotgemm {
namespace {

/// Configs of the menu and of the ladder.
std::vector<WmmaConfig> configs() {
  std::vector<WmmaConfig> all = {
      {.block_m = 16, .block_n = 16, .warps_m = 1, .warps_n = 1, .async_copy = false, .padded = false},
      {.block_m = 64, .block_n = 32, .async_copy = false, .padded = false},
      {.block_m = 16, .block_n = 16, .warps_m = 1, .warps_n = 1, .stages = 0, .async_copy = false, .padded = false},
      {.padded = false},
      {.warps_m = 2, .warps_n = 4, .fragment_m = 32, .stages = 2},
      {.warps_m = 4, .warps_n = 2, .fragment_m = 8, .stages = 3},
      {.block_m = 256, .block_n = 256, .warps_m = 4, .warps_n = 4, .stages = 4},
  };
  for (const KernelConfig& config : candidates(make_traits({DType::f16, DType::f16}, {}), arch_limits("sm_90a"))) {
    if (const auto* wmma = std::get_if<WmmaConfig>(&config)) all.push_back(*wmma);
  }
  return all;
}

TEST(WmmaConfig, MenuIsThere) { EXPECT_GE(configs().size(), 6U + 10U); }

/// wmma.load compiles to ldmatrix: the lines of each fragment start at multiples of 16 bytes.
TEST(WmmaConfig, FragmentsBeginAtChunks) {
  for (const WmmaConfig& c : configs()) {
    for (const Layout& layout : kLayouts) {
      const GemmTraits t = make_traits({DType::f16, DType::f32}, layout);
      EXPECT_EQ(c.a_tile(t).row_stride_bytes() % 16, 0);
      EXPECT_EQ(c.b_tile(t).row_stride_bytes() % 16, 0);
      EXPECT_EQ(c.stage_bytes(t) % 16, 0);
      EXPECT_EQ(c.a_tile(t).bytes() % 16, 0);
      EXPECT_EQ(c.warp_m() % c.fragment_m, 0);
      EXPECT_EQ(c.warp_n() % c.fragment_n(), 0);
      EXPECT_EQ(c.fragment_m * 2 % 16, 0);
      EXPECT_EQ(c.fragment_n() * 2 % 16, 0);
    }
  }
}

/// wmma.store.d needs each row at a multiple of the bytes that a lane holds. The buffers of neighbouring warps must not
/// overlap.
TEST(WmmaConfig, SumsGoToAlignedRowsThatFit) {
  for (const WmmaConfig& c : configs()) {
    for (const TypePair& types : kTensorTypes) {
      const GemmTraits t = make_traits(types, {});
      const int element = types.accumulator == DType::f16 ? 2 : 4, held = 8 * element;
      EXPECT_EQ(c.sum_stride_bytes(t) % held, 0);
      EXPECT_GE(c.sum_stride_bytes(t), c.warp_n() * element);
      EXPECT_EQ(c.sum_buffer_bytes(t) % held, 0);
      EXPECT_EQ(c.fragment_n() * element % held, 0);
      EXPECT_LE(c.warps_m * c.warps_n * c.sum_buffer_bytes(t), c.smem_bytes(t));
      // Each lane stores eight neighbouring results of a row at a time, and none are left over.
      EXPECT_EQ(c.fragment_m * c.warp_n() % (8 * kWarpSize), 0);
    }
  }
}

TEST(WmmaConfig, BuffersFragmentsWhereThereIsRoom) {
  const GemmTraits f16 = make_traits({DType::f16, DType::f16}, {}), f32 = make_traits({DType::f16, DType::f32}, {});
  const WmmaConfig c{.block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3};
  EXPECT_TRUE(c.buffers_fragments(f16));
  EXPECT_TRUE(c.buffers_fragments(f32));
  EXPECT_EQ(c.fragment_registers(f16), 2 * (64 + 64) / 4);
  const auto with = [&](auto&& change) {
    WmmaConfig other = c;
    change(other);
    return other.buffers_fragments(f16);
  };
  EXPECT_FALSE(with([](WmmaConfig& w) { w.stages = 1; }));
  EXPECT_FALSE(with([](WmmaConfig& w) { w.block_k = 16; }));
  EXPECT_FALSE(with([](WmmaConfig& w) { w.block_k = 48; }));
  EXPECT_FALSE(with([](WmmaConfig& w) { w.block_m = 256, w.block_n = 256, w.warps_m = 4; })) << "64x128 per warp";
  EXPECT_FALSE(with([](WmmaConfig& w) { w.block_m = w.block_n = 256, w.warps_m = w.warps_n = 4; })) << "16 warps";
}

TEST(WmmaShape, RegistersHoldTheElements) {
  for (const int m : {8, 16, 32}) {
    EXPECT_TRUE(is_wmma_m(m));
    EXPECT_EQ(wmma_operand_registers(DType::bf16, m) * 32 * 2, m * kWmmaK);
    EXPECT_GE(wmma_operand_registers(DType::f16, m) * 32 * 2, m * kWmmaK);
  }
  EXPECT_FALSE(is_wmma_m(24));
}

}  // namespace
}  // namespace hotgemm
