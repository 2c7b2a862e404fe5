// Laws of the transposed product of family wgmma: D^T = B^T A^T.

#include "config/matrix_map.hpp"
#include "config/traits.hpp"
#include "plan/wgmma_menu.hpp"
#include "plan/wgmma_model.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace hotgemm {
namespace {

/// The config of the transposed problem with the same instructions.
WgmmaConfig exchanged(WgmmaConfig config) {
  config.transposed = !config.transposed;
  std::swap(config.block_m, config.block_n);
  std::swap(config.cluster_m, config.cluster_n);
  if (config.consumers > 1 && !config.ping_pong) config.split_n = !config.split_n;
  return config;
}

/// The traits of the transposed problem.
GemmTraits exchanged(GemmTraits traits) {
  const bool a_is_k_major = traits.b_is_k_major(), b_is_k_major = traits.a_is_k_major();
  traits.op_a = a_is_k_major ? Op::n : Op::t;
  traits.op_b = b_is_k_major ? Op::t : Op::n;
  return traits;
}

template <class Visit>  // void(const WgmmaConfig&, const GemmTraits&)
void for_each_transposed(Visit&& visit) {
  for (const Layout& layout : kLayouts) {
    const GemmTraits traits = make_traits({DType::f16, DType::f32}, layout);
    for (const WgmmaConfig& config : wgmma_menu(traits)) {
      if (config.transposed) visit(config, traits);
    }
  }
}

TEST(WgmmaTransposed, HasTheInstructionsOfThePlainConfigOfTheTransposedProblem) {
  std::size_t count = 0;
  for_each_transposed([&](const WgmmaConfig& config, const GemmTraits& traits) {
    const WgmmaConfig plain = exchanged(config);
    const GemmTraits others = exchanged(traits);
    SCOPED_TRACE(to_string(KernelConfig(config)));
    ASSERT_EQ(config.instructions(), plain.instructions());
    ASSERT_EQ(config.instruction_n(), plain.instruction_n());
    ASSERT_EQ(config.accumulator_registers(traits), plain.accumulator_registers(others));
    const std::pair tiles(config.row_tile(traits), config.column_tile(traits));
    const std::pair plain_tiles(plain.row_tile(others), plain.column_tile(others));
    ASSERT_EQ(tiles.first.outer, plain_tiles.first.outer);
    ASSERT_EQ(tiles.first.k_major, plain_tiles.first.k_major);
    ASSERT_EQ(tiles.first.swizzle_bytes, plain_tiles.first.swizzle_bytes);
    ASSERT_EQ(tiles.second.outer, plain_tiles.second.outer);
    ASSERT_EQ(tiles.second.k_major, plain_tiles.second.k_major);
    ASSERT_EQ(tiles.second.swizzle_bytes, plain_tiles.second.swizzle_bytes);
    ASSERT_EQ(config.stage_bytes(traits), plain.stage_bytes(others));
    ASSERT_LE(config.smem_bytes(traits), 227 * 1024);
    ++count;
  });
  EXPECT_GT(count, 400u);
}

/// With as many stages as the plain config, the two have the same limits, except that buffers of D may be smaller.
TEST(WgmmaTransposed, IsLegalWhereThePlainConfigOfTheTransposedProblemIs) {
  for (const Layout& layout : kLayouts) {
    const GemmTraits traits = make_traits({DType::bf16, DType::f32}, layout, false);  // C needs more registers
    for (const WgmmaConfig& plain : wgmma_menu(traits)) {
      if (plain.transposed || plain.split_k || plain.has_wide_parts()) continue;  // wide parts have other limits
      if (plain.consumer_n() < 64) continue;  // lanes store these, with more registers
      EXPECT_TRUE(is_legal(exchanged(plain), exchanged(traits), arch_limits("sm_90a")))
          << to_string(KernelConfig(exchanged(plain)));
    }
  }
}

TEST(WgmmaTransposed, StoresBoxesThatEndWithTheTile) {
  for_each_transposed([&](const WgmmaConfig& config, const GemmTraits& traits) {
    const int rows = config.d_box(traits).y;
    ASSERT_EQ(config.consumer_m() % rows, 0) << to_string(KernelConfig(config));
    ASSERT_GE(config.store_warps() * WgmmaConfig::kStoreRows, std::min(config.consumer_m(), 64));
    const auto d = matrix_maps(config, traits)->d;
    ASSERT_EQ(d.has_value(), config.consumer_m() >= 64);
    if (d) {
      ASSERT_EQ(d->fixed.box[1], static_cast<std::uint32_t>(rows));
    }
  });
}

const DeviceInfo& h200() {
  static const DeviceInfo device = nominal_device("sm_90a");
  return device;
}
double us(const WgmmaConfig& config, std::int64_t m, std::int64_t n, std::int64_t k) {
  return wgmma_compute_us(config, Workload({.m = m, .n = n, .k = k, .op_b = Op::t}), h200(), config.blocks_per_sm);
}

TEST(WgmmaTransposed, IsPredictedToTakeLittleLongerThanThePlainConfigOnTheTransposedProblem) {
  for_each_transposed([&](const WgmmaConfig& config, const GemmTraits& traits) {
    if (!traits.a_is_k_major() || !traits.b_is_k_major()) return;
    const bool begins_at_lines = exchanged(config).block_n % 64 == 0;  // else the plain config's rows of D cross lines
    for (const auto& [m, n, k] :
         {std::tuple(16, 4096, 4096), std::tuple(1000, 1000, 1000), std::tuple(77, 3333, 512)}) {
      ASSERT_GT(us(config, m, n, k), (begins_at_lines ? 1 : 0.9) * us(exchanged(config), n, m, k))
          << to_string(KernelConfig(config));
      ASSERT_LT(us(config, m, n, k), 1.2 * us(exchanged(config), n, m, k)) << to_string(KernelConfig(config));
    }
  });
}

TEST(WgmmaTransposed, IsPredictedFasterWhereRowsFillLittleOfTheLastTile) {
  const WgmmaConfig plain{.block_m = 128, .block_n = 152, .ping_pong = true, .stages = 6};
  EXPECT_LT(us(exchanged(plain), 1157, 4096, 4096), 0.98 * us(plain, 1157, 4096, 4096));
  EXPECT_GT(us(exchanged(plain), 4096, 1157, 4096), 1.02 * us(plain, 4096, 1157, 4096));
}

}  // namespace
}  // namespace hotgemm
