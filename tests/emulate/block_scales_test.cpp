// Scales of blocks on the emulated device. They are powers of two, so that results are exact.

#include "emulate/batch_case.hpp"
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

struct ScaledSize {
  std::int64_t m, n, k;
  std::vector<std::int32_t> offsets;  // of groups of rows
  std::vector<std::int32_t> counts;   // of masked groups
  std::vector<std::int32_t> parts;    // offsets of groups along k
};

GemmCase case_of(const GemmKernel& kernel, const ScaledSize& size, std::uint64_t seed) {
  const GemmTraits& t = kernel.traits;
  const std::int64_t n = t.epilogue.is_gated() ? possible_n(t, size.n / 2) : size.n;
  GemmCase c{.problem = workload_of(t, size.m, n, size.k),
             .alpha = -2.0f,
             .beta = t.reads_c ? -1.0f : 0.0f,
             .data_seed = seed};
  if (launch_shape(kernel.config, t).splits_k) c.launch.splits = 2;
  return c;
}

/// Sums are exact, and the product of two of them is rounded.
std::string wrong_result(const GemmKernel& kernel, const GemmReference& reference, const HostMatrix& d) {
  if (!kernel.traits.epilogue.is_gated()) return reference.first_inexact(d);
  const double error = reference.worst_error(d);
  return error <= 1 ? "" : std::to_string(error) + " times the error that may be";
}

void expect_right_groups(const GemmKernel& kernel, const Groups& groups, std::uint64_t seed) {
  const GemmRun run = run_gemm(kernel, groups.whole, groups.matrices, seed);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  EXPECT_EQ(first_wrong(groups, run), "");
}

void expect_right_batch(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  constexpr std::size_t kProducts = 3;
  // By pointers products may have one matrix, and still scales of their own.
  const bool may_share = !kernel.traits.pointers;
  const Batch batch = make_batch(c, kProducts, may_share && seed % 3 == 1, may_share && seed % 3 == 2);
  const GemmRun run = run_gemm(kernel, batch.whole, batch.matrices, seed);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  for (std::size_t i = 0; i < kProducts; ++i) {
    const GemmReference reference(batch.cases[i], batch.products[i]);
    EXPECT_EQ(wrong_result(kernel, reference, product_of(run.d, batch.products[i].d, i)), "") << "product " << i;
  }
}

void expect_right(const GemmKernel& kernel, const ScaledSize& size, std::uint64_t seed) {
  const GemmCase c = case_of(kernel, size, seed);
  SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits) + " for " + to_string(c));
  if (kernel.traits.masked) return expect_right_groups(kernel, make_masked(c, size.counts), seed);
  if (kernel.traits.along_k) return expect_right_groups(kernel, make_k_groups(c, size.parts), seed);
  if (kernel.traits.grouped) return expect_right_groups(kernel, make_groups(c, size.offsets), seed);
  if (kernel.traits.batched) return expect_right_batch(kernel, c, seed);
  const GemmMatrices matrices = make_matrices(c);
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  const GemmReference reference(c, matrices);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  EXPECT_EQ(wrong_result(kernel, reference, run.d), "");
  if (kernel.traits.epilogue.aux) {
    EXPECT_EQ(reference.first_inexact_auxiliary(run.auxiliary), "");
  }
}

TEST(EmulatedBlockScales, ProductsAreExactInEveryFamily) {
  const ScaledSize kSizes[] = {
      {150, 300, 200, {0, 77, 77, 80, 145}, {150, 0, 61}, {0, 128, 128, 190}},  // edges everywhere, columns of three
                                                                                // blocks, an empty group
      {24, 400, 384, {0, 24}, {24, 30}, {0, 256, 384}},                         // whole tiles
      {20, 130, 1100, {0, 8, 20}, {20, 3}, {0, 256, 1100}},                     // more blocks than are loaded ahead
      {5, 16, 40, {0, 1, 3}, {1, 5}, {0, 7, 30}},                               // less than a block
      {33, 50, 0, {0, 10, 33}, {10, 33}, {0, 0}},                               // no sum
  };
  std::uint64_t seed = 1;
  for (const GemmKernel& kernel : block_scaled_kernels()) {
    for (const ScaledSize& size : kSizes) {
      expect_right(kernel, size, seed++);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hotgemm::emulate
