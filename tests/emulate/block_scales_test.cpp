// Scales of blocks on the emulated device. They are powers of two, so that results are exact.

#include "emulate/device_fixture.hpp"
#include "emulate/group_case.hpp"

#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {
namespace {

struct GroupedSize {
  std::int64_t m, n, k;
  std::vector<std::int32_t> offsets;  // of a grouped kernel
};

void expect_right(const GemmKernel& kernel, const GroupedSize& size, std::uint64_t seed) {
  GemmCase c{.problem = workload_of(kernel.traits, size.m, size.n, size.k),
             .alpha = -2.0f,
             .beta = kernel.traits.reads_c ? -1.0f : 0.0f,
             .data_seed = seed};
  if (launch_shape(kernel.config, kernel.traits).splits_k) c.launch.splits = 2;
  SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits) + " for " + to_string(c));
  if (kernel.traits.grouped) {
    const Groups groups = make_groups(c, size.offsets);
    const GemmRun run = run_gemm(kernel, groups.whole, groups.matrices, seed);
    EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
    EXPECT_EQ(first_wrong(groups, run), "");
    return;
  }
  const GemmMatrices matrices = make_matrices(c);
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  const GemmReference reference(c, matrices);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  EXPECT_EQ(reference.first_inexact(run.d), "");
  if (kernel.traits.epilogue.aux) {
    EXPECT_EQ(reference.first_inexact_auxiliary(run.auxiliary), "");
  }
}

TEST(EmulatedBlockScales, ProductsAreExactInEveryFamily) {
  const GroupedSize kSizes[] = {
      {150, 300, 200, {0, 77, 77, 80, 145}},  // edges everywhere, columns of three blocks, an empty group
      {24, 400, 384, {0, 24}},                // whole tiles
      {5, 16, 40, {0, 1, 3}},                 // less than a block
      {33, 50, 0, {0, 10, 33}},               // no sum
  };
  std::uint64_t seed = 1;
  for (const GemmKernel& kernel : block_scaled_kernels()) {
    for (const GroupedSize& size : kSizes) {
      expect_right(kernel, size, seed++);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hotgemm::emulate
