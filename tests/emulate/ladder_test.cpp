// Every rung of the ladder on the emulated device gives right results and no findings.

#include "ladder/ladder.hpp"
#include "emulate/device_fixture.hpp"

#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hotgemm::emulate {
namespace {

struct Size {
  std::int64_t m, n, k;
};

/// Expects exact results on integers. The size is two tiles and a part of a tile in m and n, and several k-tiles and a
/// part of one in k.
void expect_exact(const GemmKernel& kernel, const Rung& rung, const Size& size, std::uint64_t seed) {
  const Problem problem{.m = size.m, .n = size.n, .k = size.k, .op_b = rung.op_b, .types = types_of(rung.traits())};
  const GemmCase c{.problem = {problem, {.align_a = 16, .align_b = 16, .align_d = 16}},
                   .launch = ladder_launch(rung, size.n),
                   .data_seed = seed};
  SCOPED_TRACE(to_string(c));
  const GemmMatrices matrices = make_matrices(c);
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

}  // namespace
}  // namespace hotgemm::emulate
