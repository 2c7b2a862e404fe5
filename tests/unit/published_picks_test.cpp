// Picks for GPUs on which nothing was measured here, against what others have published for them.

#include "plan/choice.hpp"
#include "records/database.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace hotgemm {
namespace {

/// A tile that others have found to be as fast as cuBLAS on a square problem.
struct Published {
  const char* arch;
  std::int64_t size;
  ComputeType compute;
  int shorter, longer;  ///< sides of the tile, whichever is along m
  const char* source;
};
constexpr Published kPublished[] = {
    {"sm_89", 4096, ComputeType::f16, 128, 128, "the HGEMM material: 98 to 100 % of cuBLAS on an L20"},
    {"sm_89", 8192, ComputeType::f16, 128, 128, "the same"},
    {"sm_89", 16384, ComputeType::f16, 128, 128, "the same"},
    {"sm_86", 4096, ComputeType::f16, 128, 256, "github.com/Bruce-Lee-LY/cuda_hgemm: an RTX 3090 and an RTX A6000"},
    {"sm_86", 8192, ComputeType::f16, 128, 256, "the same"},
    {"sm_80", 4096, ComputeType::f32, 128, 256, "CUTLASS's default tile for f16 on sm_80"},
    {"sm_80", 8192, ComputeType::f32, 128, 256, "the same"},
};

TEST(PublishedPicks, TilesLieBetweenThePublishedOneAndItsHalf) {
  for (const Published& known : kPublished) {
    for (const Layout& layout : kLayouts) {
      Workload problem({.m = known.size, .n = known.size, .k = known.size, .op_a = layout.op_a, .op_b = layout.op_b});
      problem.types.compute = known.compute;
      const KernelConfig pick = choose(problem, known.arch, Database({}), {}).front().config;
      SCOPED_TRACE(std::string(known.arch) + ", " + to_string(pick) + "; known: " + known.source);
      EXPECT_EQ(family_of(pick).name, "mma");
      EXPECT_GE(std::min(block_m(pick), block_n(pick)), known.shorter);
      EXPECT_LE(std::max(block_m(pick), block_n(pick)), std::max(known.longer, 256));
      EXPECT_GE(2 * block_m(pick) * block_n(pick), known.shorter * known.longer);
    }
  }
}

}  // namespace
}  // namespace hotgemm
