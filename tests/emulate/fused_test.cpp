// Epilogues on the emulated device: each part alone and many together, in every way in which a family stores D.

#include "emulate/device_fixture.hpp"

#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "emulate/epilogue_reference.hpp"
#include "emulate/gemm_run.hpp"
#include "emulate/size.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace hotgemm::emulate {
namespace {

// Edges in every dimension, whole tiles, one element, and no product.
constexpr Size kSizes[] = {{77, 91, 150}, {144, 144, 128}, {1, 1, 1}, {70, 50, 0}};

/// Results of s8 are scaled into the range of 8 bits, and of f16.
float scale_of(const GemmTraits& t) {
  if (t.element != DType::s8) return t.element_d == DType::e4m3 || t.element_d == DType::e5m2 ? 0.25f : 1.0f;
  return size_bytes(t.element_d) == 1 ? 0x1p-10f : 0x1p-8f;
}

void expect_right(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits) + " for " + to_string(c) +
               (c.residual_in_place ? ", residual in place" : "") + ", seed " + std::to_string(seed));
  const GemmMatrices matrices = make_matrices(c);
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  const GemmReference reference(c, matrices);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  const bool is_exact = emulate::is_exact(c.problem.epilogue) && c.data == GemmData::integers;
  if (is_exact) {
    EXPECT_EQ(reference.first_inexact(run.d), "");
  }
  EXPECT_LE(reference.worst_error(run.d), 1.0);
  if (c.problem.epilogue.amax) {
    EXPECT_LE(std::abs(static_cast<double>(run.amax) - reference.amax()), is_exact ? 0 : reference.amax_gate());
  }
  for (std::int64_t i = 0; i < run.bias_gradient.cols; ++i) {
    const double before = matrices.bias_gradient.get(DType::f32, 0, i);
    const double after = run.bias_gradient.get(DType::f32, 0, i);
    EXPECT_LE(std::abs(after - before - reference.bias_gradient(i)), is_exact ? 0 : reference.bias_gradient_gate(i))
        << "number " << i << " of the gradient of the bias";
  }
  if (!c.problem.epilogue.aux) return;
  if (c.data == GemmData::integers) {
    EXPECT_EQ(reference.first_inexact_auxiliary(run.auxiliary), "");
  }
  EXPECT_LE(reference.worst_auxiliary_error(run.auxiliary), 1.0);
}

void expect_all_right(const std::vector<GemmKernel>& kernels) {
  std::uint64_t seed = 1;
  for (const GemmKernel& kernel : kernels) {
    for (const Size& size : kSizes) {
      GemmCase c{.problem = workload_of(kernel.traits, size.m, possible_n(kernel.traits, size.n), size.k),
                 .alpha = scale_of(kernel.traits),
                 .beta = kernel.traits.reads_c ? -1.0f : 0.0f,
                 .data_seed = seed};
      if (seed % 3 == 0) c.alpha = -c.alpha;
      c.in_place = kernel.traits.reads_c && seed % 2 == 0;
      c.residual_in_place = c.problem.epilogue.residual && !c.in_place && seed % 5 < 3;
      if (launch_shape(kernel.config, kernel.traits).splits_k) c.launch.splits = static_cast<int>(seed % 3 + 1);
      expect_right(kernel, c, seed++);
      if (testing::Test::HasFailure()) return;
    }
    GemmCase c{.problem = workload_of(kernel.traits, 70, possible_n(kernel.traits, 50), 90),
               .alpha = 0.5f * scale_of(kernel.traits),
               .beta = kernel.traits.reads_c ? -1.5f : 0.0f,
               .data = GemmData::normal};
    expect_right(kernel, c, 1);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EmulatedFused, PartsAndChainsAreRight) { expect_all_right(fused_kernels()); }
TEST(EmulatedFused, ChainsOfWgmmaAreRightHoweverDIsStored) { expect_all_right(fused_wgmma_kernels()); }

TEST(EmulatedFused, GatesAreRightHoweverTheirColumnsLie) { expect_all_right(gated_kernels()); }

TEST(EmulatedFused, BitsOfReluAndGradientsOfBiasesAreRightHoweverDIsStored) { expect_all_right(backward_kernels()); }

TEST(EmulatedFused, FunctionsOfUsersAreRightHoweverDIsStored) {
  std::vector<GemmKernel> kernels;
  std::ranges::copy_if(function_kernels(), std::back_inserter(kernels),
                       [](const GemmKernel& kernel) { return !kernel.traits.batched; });
  expect_all_right(kernels);
}

TEST(EmulatedFused, NanAndInfinityPassAsTheChainSays) {
  for (const GemmKernel& kernel : fused_kernels()) {
    const Epilogue& e = kernel.traits.epilogue;
    if (e.activation == Activation::none || e.reads_auxiliary() || is_integer(kernel.traits.element)) continue;
    if (!is_wide_float(kernel.traits.element_d)) continue;  // 8 bits saturate
    const GemmCase c{.problem = workload_of(kernel.traits, 24, 24, 16), .beta = kernel.traits.reads_c ? 1.0f : 0.0f};
    GemmMatrices matrices = make_matrices(c);
    for (HostMatrix* vector : {&matrices.scale_a, &matrices.scale_b, &matrices.scale_d}) {
      for (std::int64_t i = 0; i < vector->cols; ++i) vector->set(DType::f32, 0, i, 1);
    }
    const double kInfinity = std::numeric_limits<double>::infinity();
    for (const std::int64_t row : {3, 5, 7}) {
      for (std::int64_t col = 0; col < matrices.a.cols; ++col) matrices.a.set(kernel.traits.element, row, col, 0);
    }
    // Rows of A whose products with the first row of B are NaN, infinity, and its negative.
    matrices.b.set(kernel.traits.element_b, 0, 0, 1);
    matrices.a.set(kernel.traits.element, 3, 0, std::nan(""));
    matrices.a.set(kernel.traits.element, 5, 0, kInfinity);
    matrices.a.set(kernel.traits.element, 7, 0, -kInfinity);
    const GemmRun run = run_gemm(kernel, c, matrices, 1);
    SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits));
    const auto found = [&](std::int64_t row) { return run.d.get(kernel.traits.element_d, row, 0); };
    EXPECT_TRUE(std::isnan(found(3)));
    const bool is_bounded = e.activation == Activation::sigmoid || e.activation == Activation::tanh;
    EXPECT_EQ(std::isinf(found(5)), !is_bounded) << found(5);
    const bool is_undefined = e.activation == Activation::gelu || e.activation == Activation::gelu_erf ||
                              e.activation == Activation::silu;  // -inf * 0
    EXPECT_EQ(std::isnan(found(7)), is_undefined) << found(7);
  }
}

}  // namespace
}  // namespace hotgemm::emulate
