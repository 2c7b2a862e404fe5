// Every rung of the ladder on the emulated device gives right results and no findings, and those that are named after
// bank conflicts have as many as their names say.

#include "ladder/ladder.hpp"
#include "emulate/device_fixture.hpp"

#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"
#include "emulate/size.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace hotgemm::emulate {
namespace {

GemmCase case_of(const Rung& rung, const Size& size, std::uint64_t seed) {
  const Problem problem{.m = size.m, .n = size.n, .k = size.k, .op_b = rung.op_b, .types = types_of(rung.traits())};
  return {.problem = {problem, {.align_a = 16, .align_b = 16, .align_d = 16}},
          .launch = ladder_launch(rung, size.n),
          .data_seed = seed};
}

/// Expects exact results on integers. The size is two tiles and a part of a tile in m and n, and several k-tiles and a
/// part of one in k. A begins `offset` bytes behind a multiple of 256.
void expect_exact(const GemmKernel& kernel, const Rung& rung, const Size& size, std::uint64_t seed, int offset = 0) {
  const GemmCase c = case_of(rung, size, seed);
  SCOPED_TRACE(to_string(c));
  GemmMatrices matrices = make_matrices(c);
  matrices.a.offset_bytes = offset;
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  EXPECT_EQ(GemmReference(c, matrices).first_inexact(run.d), "");
}

TEST(EmulatedLadder, EveryRungIsExact) {
  std::set<std::string> done;
  std::uint64_t seed = 1;
  for (const Rung& rung : rungs()) {
    if (!rung.config) continue;
    SCOPED_TRACE(rung.label);
    const GemmKernel* const kernel = find_gemm_kernel(*rung.config, rung.traits());
    ASSERT_NE(kernel, nullptr) << "is not built for the emulated device";
    if (!done.insert(to_string(kernel->config) + to_string(kernel->traits) + (rung.block_swizzle ? "s" : "")).second)
      continue;
    const int m = block_m(*rung.config), n = block_n(*rung.config);
    expect_exact(*kernel, rung, {m + 3, n + 5, 77}, seed++);
    if (m * n <= 64 * 64) expect_exact(*kernel, rung, {2 * m + 1, 2 * n + 9, 40}, seed++);
    if (HasFailure()) return;
  }
  EXPECT_GE(done.size(), 44U);
}

/// A kernel whose fragments come from global memory takes another way where a matrix does not lie at 32 bytes.
TEST(EmulatedLadder, WmmaWithoutSharedMemoryIsExactWhereverAMatrixLies) {
  const Rung rung = find_rungs("hgemm_wmma_m16n16k16_naive").at(0);
  const GemmKernel& kernel = *find_gemm_kernel(*rung.config, rung.traits());
  for (const int offset : {0, 16, 32}) {
    expect_exact(kernel, rung, {35, 39, 77}, 1, offset);
    expect_exact(kernel, rung, {32, 48, 64}, 2, offset);
  }
}

/// Bank conflicts of one rung, on a problem of whole tiles.
struct Conflicts {
  std::uint64_t loads = 0, stores = 0, fragments = 0, copies = 0;
};
Conflicts conflicts_of(std::string_view label) {
  const Rung rung = find_rungs(label).at(0);
  GemmCase c = case_of(rung, {block_m(*rung.config), block_n(*rung.config), 64}, 1);
  c.counts_accesses = true;
  const GemmKernel& kernel = *find_gemm_kernel(*rung.config, rung.traits());
  const LaunchReport report = run_gemm(kernel, c, make_matrices(c), 1).report;
  // The tile of one product has fewer chunks than a warp has lanes.
  EXPECT_EQ(report.counters.uneven_accesses > 0, label == "mma") << label;
  const auto sum = [&](std::initializer_list<Instruction> instructions) {
    std::uint64_t conflicts = 0;
    for (const Instruction i : instructions) conflicts += report.counters[i].conflicts;
    return conflicts;
  };
  using enum Instruction;
  return {.loads = sum({ld_shared_b16, ld_shared_b32, ld_shared_v2_b32, ld_shared_v4_b32}),
          .stores = sum({st_shared_b16, st_shared_b32, st_shared_v2_b32, st_shared_v4_b32}),
          .fragments = sum({ldmatrix_x2, ldmatrix_x2_trans, ldmatrix_x4, ldmatrix_x4_trans, wmma_load_a, wmma_load_b}),
          .copies = sum({cp_async_cg_16})};
}

TEST(EmulatedLadder, UntransposedTilesOfOneElementAThreadHaveNoConflicts) {
  for (const char* label : {"sliced_k", "f32+block"}) {
    const Conflicts found = conflicts_of(label);
    EXPECT_EQ(found.loads + found.stores, 0u) << label;
  }
  EXPECT_EQ(conflicts_of("f32+t4x4").stores, 0u);
  EXPECT_GT(conflicts_of("ours: tf32+block").stores, 0u) << "transposed, and not padded";
}

/// `bcf` transposes and splits thread tiles, so that loads have no conflicts; the stores that transpose then have some
/// unless rows are padded.
TEST(EmulatedLadder, ReducedBankConflictsAreThoseOfLoads) {
  const Conflicts plain = conflicts_of("f16x4+t8x8"), reduced = conflicts_of("f16x4+t8x8+bcf");
  const Conflicts padded = conflicts_of("f16x4pack+t8x8+bcf");
  EXPECT_GT(plain.loads, 0u);
  EXPECT_EQ(plain.stores, 0u);
  EXPECT_EQ(reduced.loads, 0u);
  EXPECT_GT(reduced.stores, 0u);
  EXPECT_EQ(padded.loads + padded.stores, 0u);
  EXPECT_GT(conflicts_of("f16x4pack+t8x8").loads, 0u);
}

TEST(EmulatedLadder, PaddedAndSwizzledTilesOfTensorCoresHaveNoConflictsOfLdmatrix) {
  for (const char* label : {"wmma4x2", "wmma4x2+warp2x4", "wmma4x2+warp2x4+async", "mma", "mma2x4+warp4x4"}) {
    EXPECT_GT(conflicts_of(label).fragments, 0u) << label;
  }
  for (const char* label : {"wmma4x2+warp2x4+async+offset", "wmma4x2+warp2x4+stage2", "mma2x4+warp4x4+stage2",
                            "mma2x4+warp4x4x2+stage2+dsmem"}) {
    EXPECT_EQ(conflicts_of(label).fragments, 0u) << label << " is padded";
  }
  for (const char* label : {"mma2x4+warp4x4x2+stage2+dsmem+smem swizzle", "tn+cute+stage3+smem swizzle"}) {
    const Conflicts found = conflicts_of(label);
    EXPECT_EQ(found.fragments + found.copies, 0u) << label;
  }
}

}  // namespace
}  // namespace hotgemm::emulate
