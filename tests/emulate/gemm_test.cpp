// The kernels of the library on the emulated device: they give right results and no findings.

#include "emulate/device_fixture.hpp"

#include "config/families.hpp"
#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"
#include "emulate/size.hpp"
#include "sweep_sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace hotgemm::emulate {
namespace {

/// The hints of rows that consist of whole 16-byte chunks. The matrices of these tests are padded to such rows.
constexpr Hints kWide{.align_a = 16, .align_b = 16, .align_d = 16};

// One element; less than one tile; more than one tile in each dimension; k = 0; and sizes near multiples of tiles and
// of the widest access.
constexpr Size kSizes[] = {{1, 1, 1},      {17, 9, 7},    {64, 64, 64}, {65, 63, 33},
                           {130, 72, 136}, {33, 145, 97}, {5, 3, 0},    {200, 150, 0}};

bool is_mixed(const GemmTraits& t) {
  return KernelTypes{t.element, t.accumulator, t.element_b, t.element_d}.is_mixed();
}

bool splits_k(const GemmKernel& kernel) { return launch_shape(kernel.config, kernel.traits).splits_k; }

class EmulatedGemm : public testing::TestWithParam<std::string> {};

std::vector<std::string> all_family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  return names;
}

void expect_right(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits) + " for " + to_string(c) +
               ", seed " + std::to_string(seed));
  const GemmMatrices matrices = make_matrices(c);
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  const GemmReference reference(c, matrices);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  if (c.data == GemmData::integers) {
    EXPECT_EQ(reference.first_inexact(run.d), "");
  }
  EXPECT_LE(reference.worst_error(run.d), 1.0);
}

/// A scale for sums of products of any s8, so that f16 holds them, or s8 most of them; a power of two, which keeps sums
/// exact.
float scale_of(const GemmTraits& traits) {
  if (traits.element != DType::s8 || traits.element_d == DType::s32) return 1;
  return traits.element_d == DType::s8 ? 0x1p-10f : 0x1p-6f;
}

/// True if this run tests the `index`-th kernel of a sweep over all. The sample has a third of them, and a sixth of
/// those of mixed types, which run by the same lines.
bool is_in_sweep(std::size_t index, const GemmTraits& traits) { return is_drawn(index, is_mixed(traits) ? 6 : 3); }

TEST_P(EmulatedGemm, IsExactOnIntegersOverAwkwardSizes) {
  std::uint64_t seed = 1;
  std::size_t index = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (family_of(kernel.config).name != GetParam() || !is_in_sweep(index++, kernel.traits)) continue;
    // Kernels of other types run by the same lines as those of f16, and have every other size, by turns.
    const std::size_t step = is_mixed(kernel.traits) ? 2 : 1;
    for (std::size_t s = index % step; s < std::size(kSizes); s += step) {
      const Size& size = kSizes[s];
      GemmCase c{.problem = workload_of(kernel.traits, size.m, size.n, size.k),
                 .alpha = scale_of(kernel.traits),
                 .data_seed = seed};
      if (kernel.traits.reads_c) {
        if (seed % 2 == 0) c.alpha = -c.alpha;
        c.beta = seed % 3 == 0 ? -1.0f : 1.0f;
        c.in_place = seed % 5 < 2;
      }
      c.launch = {.raster_width = static_cast<int>(seed % 3 + 1), .raster_along_n = seed % 2 == 0};
      if (splits_k(kernel)) c.launch.splits = static_cast<int>(seed % 6 + 1);
      expect_right(kernel, c, seed++);
      if (HasFailure()) return;
    }
  }
}

TEST_P(EmulatedGemm, IsNearOnNormalData) {
  std::size_t index = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (family_of(kernel.config).name != GetParam() || !is_in_sweep(index++, kernel.traits)) continue;
    GemmCase c{.problem = workload_of(kernel.traits, 70, 50, 90),
               .alpha = 0.5f * scale_of(kernel.traits),
               .data = GemmData::normal};
    if (kernel.traits.reads_c) c.beta = -1.5f;
    if (kernel.traits.element_d == DType::s32) {  // whole numbers
      c.alpha = -7;
      if (kernel.traits.reads_c) c.beta = 3;
    }
    expect_right(kernel, c, 1);
    if (HasFailure()) return;
  }
}

TEST_P(EmulatedGemm, HasOneResultWhateverTheSeed) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const GemmCase c{.problem = {{.m = 130, .n = 100, .k = 80, .op_b = Op::t, .types = uniform_types(dtype)}, kWide},
                     .data = GemmData::normal};
    const GemmKernel* const kernel = find_gemm_kernel(GetParam(), traits_of(c.problem));
    ASSERT_NE(kernel, nullptr);
    const GemmMatrices matrices = make_matrices(c);
    const GemmRun first = run_gemm(*kernel, c, matrices, 0);
    for (std::uint64_t seed = 1; seed < 12; ++seed) {
      const GemmRun run = run_gemm(*kernel, c, matrices, seed);
      EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
      ASSERT_EQ(run.d.bytes, first.d.bytes) << "seed " << seed;
    }
  }
}

// docs/results/emulate.md asks for 2 s of an optimised build. These kernels are not optimised and take up to 2.5 s; the
// limit leaves room for machines of a third of the speed.
TEST_P(EmulatedGemm, TakesFewSecondsFor256Cubed) {
  const GemmCase c{.problem = {{.m = 256, .n = 256, .k = 256}, kWide}};
  const GemmKernel* const kernel = find_gemm_kernel(GetParam(), traits_of(c.problem));
  ASSERT_NE(kernel, nullptr);
  const GemmMatrices matrices = make_matrices(c);
  const std::clock_t start = std::clock();  // CPU time, which a busy machine does not lengthen
  const GemmRun run = run_gemm(*kernel, c, matrices, 1);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(GemmReference(c, matrices).first_inexact(run.d), "");
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(seconds, 8.0);
#endif
  RecordProperty("seconds", std::to_string(seconds));
}

INSTANTIATE_TEST_SUITE_P(Families, EmulatedGemm, testing::ValuesIn(all_family_names()),
                         [](const auto& info) { return info.param; });

/// The host compiler must fuse product and sum, as NVRTC does. Otherwise family simt would not give the bits of the
/// GPU.
TEST(EmulatedKernels, FuseMultiplyAndAdd) {
  const GemmCase c{.problem = {{.m = 1, .n = 1, .k = 2, .types = kF32}, kWide}};
  GemmMatrices matrices = make_matrices(c);
  matrices.a.set(DType::f32, 0, 0, -1);
  matrices.b.set(DType::f32, 0, 0, 1);
  matrices.a.set(DType::f32, 0, 1, 1 + 0x1p-12f);
  matrices.b.set(DType::f32, 1, 0, 1 + 0x1p-12f);
  const GemmKernel* const kernel = find_gemm_kernel("simt", traits_of(c.problem));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(run_gemm(*kernel, c, matrices, 1).d.get(DType::f32, 0, 0), 0x1p-11f + 0x1p-24f);
}

/// Without a product alpha has no effect: D has the bits of beta * C, or is zero.
TEST(EmulatedKernels, AnEmptyProductGivesBetaTimesCWhateverAlphaIs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const char* const family : {"simt", "fma", "mma", "wgmma", "wmma"}) {
    for (const float alpha : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), -1.0f, 0.0f, -0.0f}) {
      for (const float beta : {0.0f, 1.0f, -2.0f}) {
        const GemmCase c{.problem = {{.m = 24, .n = 16, .k = alpha == 0 ? 8 : 0},
                                     {.align_a = 16, .align_b = 16, .align_d = 16, .beta_is_zero = beta == 0}},
                         .alpha = alpha,
                         .beta = beta};
        const GemmMatrices matrices = make_matrices(c);
        const GemmKernel* const kernel = find_gemm_kernel(family, traits_of(c.problem));
        ASSERT_NE(kernel, nullptr) << family;
        const GemmRun run = run_gemm(*kernel, c, matrices, 1);
        EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
        for (std::int64_t i = 0; i < 24; ++i) {
          for (std::int64_t j = 0; j < 16; ++j) {
            const double right = beta == 0 ? 0 : beta * matrices.c.get(DType::f16, i, j);
            const double found = run.d.get(DType::f16, i, j);
            ASSERT_EQ(found, right) << family << " alpha " << alpha << " beta " << beta;
            ASSERT_EQ(std::signbit(found), std::signbit(right)) << family << " alpha " << alpha << " beta " << beta;
          }
        }
      }
    }
  }
}

/// With alpha = -beta and a sum that equals C, the result is the rounding error of the product that is not fused. The
/// sign shows which product that is.
TEST(EmulatedKernels, EveryFamilyFusesTheProductWithBeta) {
  constexpr float kFactor = 1 + 0x1p-23f, kSum = 2047 * 16;
  const float right = std::fma(kFactor, kSum, -(kFactor * kSum));
  ASSERT_NE(right, 0);
  for (const char* const family : {"simt", "fma", "mma", "wgmma", "wmma"}) {
    const GemmCase c{
        .problem = {{.m = 16, .n = 16, .k = 1}, {.align_a = 16, .align_b = 16, .align_d = 16, .beta_is_zero = false}},
        .alpha = -kFactor,
        .beta = kFactor};
    GemmMatrices matrices = make_matrices(c);
    for (std::int64_t i = 0; i < 16; ++i) {
      matrices.a.set(DType::f16, i, 0, 2047);
      matrices.b.set(DType::f16, 0, i, 16);
      for (std::int64_t j = 0; j < 16; ++j) matrices.c.set(DType::f16, i, j, kSum);
    }
    const GemmKernel* const kernel = find_gemm_kernel(family, traits_of(c.problem));
    ASSERT_NE(kernel, nullptr) << family;
    const GemmRun run = run_gemm(*kernel, c, matrices, 1);
    EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
    for (std::int64_t i = 0; i < 16; ++i) {
      for (std::int64_t j = 0; j < 16; ++j) ASSERT_EQ(run.d.get(DType::f16, i, j), right) << family;
    }
  }
}

/// A D of s32 is right modulo 2^32. The sums of this test do not wrap; the products with beta do.
TEST(EmulatedKernels, SimtWrapsResultsOfIntegers) {
  const GemmCase c{.problem = Workload(parse_workload("20 30 64 nt s8 align=1,1,4 beta=1")), .alpha = 3, .beta = -2};
  GemmMatrices matrices = make_matrices(c);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 0; j < 30; ++j) matrices.c.set(DType::s32, i, j, i % 2 == 0 ? 2147483647.0 : -2147483648.0);
  }
  const GemmKernel* const kernel = find_gemm_kernel("simt", traits_of(c.problem));
  ASSERT_NE(kernel, nullptr);
  const GemmRun run = run_gemm(*kernel, c, matrices, 1);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  EXPECT_EQ(GemmReference(c, matrices).first_inexact(run.d), "");
}

/// Both families sum k in ascending order, with one fma for each product, if no slices divide it.
TEST(EmulatedKernels, FmaGivesTheBitsOfSimt) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const GemmCase c{.problem = {{.m = 130, .n = 70, .k = 90, .types = uniform_types(dtype)}, kWide},
                     .data = GemmData::normal};
    const GemmMatrices matrices = make_matrices(c);
    const GemmKernel* const simt = find_gemm_kernel("simt", traits_of(c.problem));
    ASSERT_NE(simt, nullptr);
    const GemmRun expected = run_gemm(*simt, c, matrices, 1);
    std::size_t compared = 0;
    for (const GemmKernel& kernel : gemm_kernels()) {
      const auto* const config = std::get_if<FmaConfig>(&kernel.config);
      if (config == nullptr || config->slices > 1 || !computes(kernel.traits, traits_of(c.problem))) continue;
      EXPECT_EQ(run_gemm(kernel, c, matrices, 1).d.bytes, expected.d.bytes) << hotgemm::to_string(kernel.config);
      ++compared;
    }
    EXPECT_GT(compared, 2U);
  }
}

/// Each tile has one k-tile, so that the warps of a consumer do not wait for products before its turn ends, and can
/// drift apart.
TEST(EmulatedKernels, WgmmaKeepsItsTurnsWithOneKTile) {
  std::size_t tested = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    const auto* const config = std::get_if<WgmmaConfig>(&kernel.config);
    if (config == nullptr || !config->ping_pong) continue;
    const GemmCase c{.problem = workload_of(kernel.traits, 448, 96, 40), .beta = kernel.traits.reads_c ? 1.0f : 0.0f};
    for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_right(kernel, c, seed);
    if (HasFailure()) return;
    ++tested;
  }
  EXPECT_GT(tested, 4U);
}

/// Transposed tiles of the last rows of D: some warps have no rows, or eight of their sixteen.
TEST(EmulatedKernels, WgmmaTransposesAnyRowsAndColumns) {
  std::uint64_t seed = 1;
  std::size_t tested = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    const auto* const config = std::get_if<WgmmaConfig>(&kernel.config);
    if (config == nullptr || !config->transposed) continue;
    for (const Size& size : {Size{1, 137, 72}, Size{7, 65, 40}, Size{8, 192, 130}, Size{77, 203, 64}}) {
      GemmCase c{.problem = workload_of(kernel.traits, size.m, size.n, size.k), .data_seed = seed};
      if (kernel.traits.reads_c) {
        c.beta = -1.0f;
        c.in_place = seed % 2 == 0;
      }
      expect_right(kernel, c, seed++);
      if (HasFailure()) return;
    }
    ++tested;
  }
  EXPECT_GT(tested, 40U);
}

/// Parts that are uneven, shorter than the ring, or empty; more parts than a tile has units; several tiles.
TEST(EmulatedKernels, WgmmaAddsThePartsOfADividedSum) {
  constexpr struct {
    Size size;
    int splits;
  } kCases[] = {{{64, 32, 1000}, 16}, {{70, 40, 520}, 4}, {{9, 24, 64}, 3}, {{130, 100, 300}, 5}, {{33, 7, 448}, 40}};
#if defined(__SANITIZE_ADDRESS__)
  constexpr int kOrders = 1;  // of the blocks; a stray access of a kernel does not depend on it, and dev tries three
#else
  constexpr int kOrders = 3;
#endif
  std::size_t tested = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (!splits_k(kernel)) continue;
    std::uint64_t seed = 1;
    for (const auto& [size, splits] : kCases) {
      GemmCase c{.problem = workload_of(kernel.traits, size.m, size.n, size.k),
                 .beta = kernel.traits.reads_c ? 1.0f : 0.0f};
      c.in_place = kernel.traits.reads_c && splits == 5;
      c.launch.splits = splits;
      for (int i = 0; i < kOrders; ++i) expect_right(kernel, c, seed++);
      if (HasFailure()) return;
    }
    ++tested;
  }
  EXPECT_GT(tested, 4U);
}

/// The order of additions does not depend on the block that adds.
TEST(EmulatedKernels, WgmmaAddsPartsInOneOrder) {
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (!splits_k(kernel) || kernel.traits.reads_c) continue;
    GemmCase c{.problem = workload_of(kernel.traits, 40, 30, 900), .data = GemmData::normal};
    c.launch.splits = 7;
    const GemmMatrices matrices = make_matrices(c);
    const GemmRun first = run_gemm(kernel, c, matrices, 0);
    std::uint64_t waits = 0;
    for (std::uint64_t seed = 1; seed < 7; ++seed) {
      const GemmRun run = run_gemm(kernel, c, matrices, seed);
      EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
      ASSERT_EQ(run.d.bytes, first.d.bytes) << "seed " << seed;
      waits += run.report.counters[Instruction::ld_acquire_gpu_b32].executions;
    }
    EXPECT_GT(waits, 0U);
  }
}

TEST(EmulatedKernels, WgmmaPrefetchesBothOperands) {
  const GemmCase c{.problem = {{.m = 130, .n = 72, .k = 88}, kWide}, .packed = true};
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (family_of(kernel.config).name != "wgmma" || !computes(kernel.traits, traits_of(c.problem))) continue;
    if (loads_by_threads(kernel.config)) continue;  // a prefetch needs rows that tensor maps can describe
    const GemmRun run = run_gemm(kernel, c, make_matrices(c), 1);
    const std::uint64_t count = run.report.counters[Instruction::bulk_prefetch_l2].executions;
    EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
    EXPECT_GE(count, 2u) << hotgemm::to_string(kernel.config);
  }
}

TEST_P(EmulatedGemm, ComputesEveryLayoutAndTypeThatItsFamilyTakes) {
  const Family& family = *std::ranges::find(families(), GetParam(), &Family::name);
  const bool needs_wide_operands = family.args == "WgmmaArgs";
  for (const KernelTypes& types : family.types) {
    for (const Op op_a : {Op::n, Op::t}) {
      for (const Op op_b : {Op::n, Op::t}) {
        for (const bool reads_c : {false, true}) {
          for (const int vec : {1, 2, 4, 8}) {
            const GemmTraits traits{.element = types.element,
                                    .accumulator = types.accumulator,
                                    .element_b = types.element_b,
                                    .element_d = types.element_d,
                                    .op_a = op_a,
                                    .op_b = op_b,
                                    .reads_c = reads_c,
                                    .vec_a = needs_wide_operands ? 16 / size_bytes(types.element) : vec,
                                    .vec_b = needs_wide_operands ? 16 / size_bytes(types.element_b) : vec,
                                    .vec_d = vec};
            // wgmma reads operands of other than 16 bits with k contiguous.
            if (needs_wide_operands && !has_wgmma_types(traits)) continue;
            if (family.name == "mma" && !has_mma_types(traits, *find_arch_limits(90))) continue;
            EXPECT_NE(find_gemm_kernel(family.name, traits), nullptr)
                << "family " << family.name << " has no emulated kernel for " << hotgemm::to_string(traits)
                << ": add one in src/emulate/kernels/";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotgemm::emulate
