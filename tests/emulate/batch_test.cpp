// Batches on the emulated device, with strided and with shared operands, and by pointers.

#include "emulate/batch_case.hpp"
#include "emulate/device_fixture.hpp"

#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "emulate/epilogue_reference.hpp"
#include "emulate/gemm_run.hpp"
#include "shared/check_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm::emulate {
namespace {

void expect_right(const GemmKernel& kernel, const Batch& batch, std::uint64_t seed) {
  SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits) + " for " +
               to_string(batch.whole) + ", strides " + std::to_string(batch.matrices.a.stride) + " and " +
               std::to_string(batch.matrices.b.stride) + ", seed " + std::to_string(seed));
  const GemmRun run = run_gemm(kernel, batch.whole, batch.matrices, seed);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  double amax = 0;
  for (std::size_t i = 0; i < batch.products.size(); ++i) {
    SCOPED_TRACE("product " + std::to_string(i));
    const GemmReference reference(batch.cases[i], batch.products[i]);
    EXPECT_EQ(reference.first_inexact(product_of(run.d, batch.products[i].d, i)), "");
    amax = std::max(amax, reference.amax());
    if (!kernel.traits.epilogue.aux) continue;
    EXPECT_EQ(reference.first_inexact_auxiliary(product_of(run.auxiliary, batch.products[i].auxiliary, i)), "");
  }
  if (kernel.traits.epilogue.amax) {
    EXPECT_EQ(static_cast<double>(run.amax), amax);
  }
  if (!batch.whole.in_place) return;
  for (std::size_t i = 0; i + 1 < batch.products.size(); ++i) {
    const HostMatrix& d = run.d;
    const auto gap = d.bytes.begin() + (static_cast<std::int64_t>(i + 1) * d.stride - d.ld) * d.element_bytes;
    const std::uint8_t unwritten = unwritten_byte(batch.whole.problem.types.d);
    EXPECT_TRUE(std::all_of(gap, gap + d.row_bytes(), [&](std::uint8_t byte) { return byte == unwritten; }))
        << "behind product " << i;
  }
}

TEST(EmulatedBatch, ProductsAreRightInEveryFamily) {
  struct Size {
    std::int64_t m, n, k;
    std::size_t batch;
  };
  // Edges in every dimension, a single tile, whole tiles, no sum.
  constexpr Size kSizes[] = {{77, 91, 150, 3}, {20, 50, 70, 5}, {64, 144, 64, 2}, {70, 50, 0, 2}, {1, 1, 1, 7}};
  std::uint64_t seed = 1;
  std::vector<GemmKernel> kernels = batched_kernels();
  std::ranges::copy(pointer_kernels(), std::back_inserter(kernels));
  std::ranges::copy_if(function_kernels(), std::back_inserter(kernels),
                       [](const GemmKernel& kernel) { return kernel.traits.batched; });
  for (const GemmKernel& kernel : kernels) {
    for (const Size& size : kSizes) {
      GemmCase c{.problem = workload_of(kernel.traits, size.m, possible_n(kernel.traits, size.n), size.k),
                 .alpha = kernel.traits.element == DType::s8 ? 0x1p-10f : -2.0f,
                 .beta = kernel.traits.reads_c ? -1.0f : 0.0f,
                 .data_seed = seed};
      c.in_place = kernel.traits.reads_c && seed % 2 == 0;
      c.residual_in_place = c.problem.epilogue.residual && !c.in_place && seed % 3 == 0;
      if (launch_shape(kernel.config, kernel.traits).splits_k) c.launch.splits = static_cast<int>(seed % 3 + 1);
      c.launch.raster_width = static_cast<int>(seed % 2 + 1);
      expect_right(kernel, make_batch(c, size.batch, seed % 5 == 1, seed % 5 == 2), seed);
      ++seed;
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(EmulatedBatch, AnAddressThatBreaksItsPromiseEndsTheGrid) {
  for (const GemmKernel& kernel : pointer_kernels()) {
    if (kernel.traits.vec_a != 8) continue;
    const GemmCase c{.problem = workload_of(kernel.traits, 64, 64, 64), .beta = kernel.traits.reads_c ? 1.0f : 0.0f};
    for (HostMatrix GemmMatrices::*const matrix : {&GemmMatrices::a, &GemmMatrices::b, &GemmMatrices::d}) {
      SCOPED_TRACE(hotgemm::to_string(kernel.config));
      const bool stores_pairs = launch_shape(kernel.config, kernel.traits).splits_k;
      if (matrix == &GemmMatrices::d && stores_pairs) continue;  // which need no such alignment
      Batch batch = make_batch(c, 2, false, false);
      (batch.matrices.*matrix).offset_bytes = 8;
      const GemmRun run = run_gemm(kernel, batch.whole, batch.matrices, 1);
      ASSERT_FALSE(run.report.findings.empty());
      const Hazard first = run.report.findings.front().hazard;
      EXPECT_TRUE(first == Hazard::misaligned || first == Hazard::trapped) << text(run.report.findings);
      for (const Finding& finding : run.report.findings) EXPECT_NE(finding.hazard, Hazard::out_of_bounds);
    }
  }
}

}  // namespace
}  // namespace hotgemm::emulate
