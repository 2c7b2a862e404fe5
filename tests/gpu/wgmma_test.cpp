// The `wgmma` family on exact data: ragged shapes, all layouts, clusters, more tiles than blocks.

#include "gpu/gpu_fixture.hpp"
#include "gpu/wgmma_kernel.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace hotgemm {
namespace {

constexpr Op kOps[] = {Op::n, Op::t};

// clang-format off
constexpr WgmmaConfig kConfigs[] = {
    {.block_m = 128, .block_n = 256, .stages = 4},
    {.block_m = 128, .block_n = 256, .stages = 4, .cluster_m = 2},
    {.block_m = 256, .block_n = 128, .stages = 4, .cluster_n = 2},
    {.block_m = 128, .block_n = 128, .stages = 6},
    {.block_m = 256, .block_n = 192, .stages = 3},
    {.block_m = 192, .block_n = 128, .consumers = 3, .stages = 4},
    {.block_m = 64,  .block_n = 256, .consumers = 1, .stages = 4, .cluster_n = 2},
    {.block_m = 128, .block_n = 64,  .block_k = 128, .stages = 4},
    {.block_m = 128, .block_n = 208, .stages = 4},
    {.block_m = 128, .block_n = 16,  .stages = 4, .cluster_m = 2},
    // numbers of columns that are not a multiple of 64; they need narrower swizzles if B is not k-major
    {.block_m = 128, .block_n = 72,  .stages = 4},
    {.block_m = 128, .block_n = 144, .stages = 4, .cluster_m = 2},
    {.block_m = 256, .block_n = 160, .stages = 4},
    // consumers side by side
    {.block_m = 192, .block_n = 192, .split_n = true, .stages = 4},
    {.block_m = 192, .block_n = 208, .split_n = true, .stages = 4, .cluster_m = 2},
    {.block_m = 320, .block_n = 128, .split_n = true, .stages = 3},
    {.block_m = 64,  .block_n = 288, .consumers = 3, .split_n = true, .stages = 3},
    // consumers that take turns (ping-pong)
    {.block_m = 128, .block_n = 128, .ping_pong = true, .stages = 5, .cluster_m = 2},
    {.block_m = 128, .block_n = 160, .ping_pong = true, .stages = 4, .cluster_n = 2},
    {.block_m = 64,  .block_n = 256, .ping_pong = true, .stages = 4},
    {.block_m = 64,  .block_n = 128, .consumers = 3, .ping_pong = true, .stages = 7},
    // one block for each tile
    {.block_m = 64,  .block_n = 64,  .consumers = 1, .one_tile = true, .stages = 2, .blocks_per_sm = 4},
    {.block_m = 128, .block_n = 128, .one_tile = true, .stages = 3, .blocks_per_sm = 2},
    {.block_m = 128, .block_n = 64,  .block_k = 128, .one_tile = true, .stages = 4, .cluster_n = 2},
    {.block_m = 64,  .block_n = 128, .split_n = true, .one_tile = true, .stages = 3, .cluster_m = 2},
    {.block_m = 64,  .block_n = 8,   .consumers = 1, .one_tile = true, .stages = 8},
    // clusters of four
    {.block_m = 128, .block_n = 112, .stages = 6, .cluster_m = 2, .cluster_n = 2},
    {.block_m = 64,  .block_n = 192, .consumers = 1, .stages = 6, .cluster_m = 4},
    {.block_m = 128, .block_n = 128, .stages = 6, .cluster_n = 4},
    {.block_m = 64,  .block_n = 80,  .block_k = 128, .consumers = 1, .one_tile = true, .stages = 5, .cluster_m = 2, .cluster_n = 2},
    {.block_m = 96,  .block_n = 128, .split_n = true, .stages = 5, .cluster_m = 2, .cluster_n = 2, .transposed = true},
    {.block_m = 128, .block_n = 144, .stages = 5, .cluster_m = 2, .cluster_n = 2, .split_k = true},
    // transposed products
    {.block_m = 72,  .block_n = 128, .split_n = true, .stages = 6, .transposed = true},
    {.block_m = 24,  .block_n = 64,  .block_k = 128, .consumers = 1, .one_tile = true, .stages = 6, .transposed = true},
    {.block_m = 48,  .block_n = 64,  .block_k = 128, .consumers = 1, .stages = 6, .cluster_m = 2, .transposed = true},
    {.block_m = 144, .block_n = 128, .ping_pong = true, .stages = 5, .transposed = true},
    // blocks that divide k
    {.block_m = 64,  .block_n = 64,  .block_k = 128, .consumers = 1, .one_tile = true, .stages = 6, .split_k = true},
    {.block_m = 128, .block_n = 256, .stages = 4, .cluster_m = 2, .split_k = true},
    {.block_m = 64,  .block_n = 128, .block_k = 128, .consumers = 1, .one_tile = true, .stages = 4, .cluster_m = 2, .split_k = true},
};
// K-major operands have the fewest constraints: a config that they do not allow is not legal at all.
static_assert(std::ranges::all_of(kConfigs, [](const WgmmaConfig& c) {
  return is_legal(c, GemmTraits{.op_b = Op::t}, *nearest_arch_limits(90));
}));
// clang-format on

class WgmmaOnGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && gpu().arch() != "sm_90a") GTEST_SKIP() << "needs sm_90a, not " << gpu().arch();
  }
  /// The configs that are legal for `traits`, compiled by several threads and loaded.
  std::vector<WgmmaKernel> kernels(const GemmTraits& traits) {
    std::vector<WgmmaKernel> built =
        build_wgmma_kernels(driver(), kConfigs, traits, [](const std::string& text) { ADD_FAILURE() << text; });
    for (const WgmmaKernel& kernel : built) {
      // The tuner drops a kernel that spills; the configs here must not, with the widest stores.
      if (traits.vec_d == 8) {
        EXPECT_EQ(kernel.cubin().spill_bytes, 0) << kernel.cubin().symbol;
      }
    }
    return built;
  }
};

TEST_F(WgmmaOnGpu, IsExactOnRaggedShapes) {
  constexpr std::int64_t kShapes[][3] = {{1, 8, 8},      {64, 64, 64},    {65, 72, 1},     {128, 256, 64},
                                         {129, 257, 65}, {300, 500, 200}, {515, 333, 127}, {257, 120, 640}};
  for (const DType element : {DType::f16, DType::bf16}) {
    for (const Op op_a : kOps) {
      for (const Op op_b : kOps) {
        const bool reads_c = op_a == op_b;
        const GemmTraits traits{.element = element, .op_a = op_a, .op_b = op_b, .reads_c = reads_c};
        for (const WgmmaKernel& kernel : kernels(traits)) {
          for (const auto& [m, n, k] : kShapes) {
            for (const float alpha : {1.f, -2.f, 0.f}) {
              GemmCase c{
                  .problem = {.m = m, .n = n, .k = k, .op_a = op_a, .op_b = op_b, .types = uniform_types(element)},
                  .alpha = alpha,
                  .beta = reads_c ? 2.f : 0.f};
              c.set_tight_ld(8);
              SCOPED_TRACE(kernel.cubin().symbol + " " + c.text());
              CaseRun run(driver(), c, stream());
              run.fill(CaseRun::Data::integers, 7);
              run.run([&](const Operands& o) { kernel.launch(m, n, k, o, {2, false, op_b == Op::n}, 4, stream()); });
              ASSERT_EQ(run.inexact(), "");
              ASSERT_EQ(run.stray_write(), "");
              if (m * n > 50000) break;  // only one alpha, because the CPU computes the reference
            }
          }
        }
      }
    }
  }
}

TEST_F(WgmmaOnGpu, StoresToRowsOfAnyAlignment) {
  for (const auto& [vec_d, reads_c] :
       {std::pair(1, true), std::pair(2, true), std::pair(4, true), std::pair(1, false), std::pair(2, false)}) {
    const GemmTraits traits{.reads_c = reads_c, .vec_d = vec_d};
    for (const WgmmaKernel& kernel : kernels(traits)) {
      GemmCase c{.problem = {.m = 131, .n = 203, .k = 72}, .alpha = 2, .beta = reads_c ? -1.f : 0.f};
      c.set_tight_ld(8);
      c.ldc += vec_d;
      c.ldd += vec_d;
      SCOPED_TRACE(kernel.cubin().symbol + " " + c.text());
      CaseRun run(driver(), c, stream());
      run.fill(CaseRun::Data::integers, 7);
      run.run([&](const Operands& o) { kernel.launch(131, 203, 72, o, {2, false}, 4, stream()); });
      ASSERT_EQ(run.inexact(), "");
      ASSERT_EQ(run.stray_write(), "");
    }
  }
}

/// D is C: a warp must have read a piece of C before its results overwrite it.
TEST_F(WgmmaOnGpu, WorksInPlace) {
  for (const int vec_d : {8, 4, 1}) {
    const GemmTraits traits{.op_b = Op::t, .reads_c = true, .vec_d = vec_d};
    for (const WgmmaKernel& kernel : kernels(traits)) {
      GemmCase c{.problem = {.m = 259, .n = 331, .k = 136, .op_b = Op::t}, .alpha = -1, .beta = 2, .in_place = true};
      c.set_tight_ld(8);
      if (vec_d < 8) c.ldd += vec_d;
      SCOPED_TRACE(kernel.cubin().symbol + " " + c.text());
      CaseRun run(driver(), c, stream());
      run.fill(CaseRun::Data::integers, 7);
      run.run([&](const Operands& o) { kernel.launch(259, 331, 136, o, {2, false}, 4, stream()); });
      ASSERT_EQ(run.inexact(), "");
      ASSERT_EQ(run.stray_write(), "");
    }
  }
}

/// NaN and infinity in A reach only their row of D, and in B only their column. The memory around all operands, also
/// after their last rows, is NaN, and so is C, which is not read.
TEST_F(WgmmaOnGpu, NanReachesItsRowAndColumnAlone) {
  constexpr std::int64_t kM = 131, kN = 203, kK = 72;
  constexpr std::size_t kRow = 130, kCol = 67;
  for (const Op op_a : kOps) {
    for (const Op op_b : kOps) {
      for (const WgmmaKernel& kernel : kernels({.op_a = op_a, .op_b = op_b})) {
        GemmCase c{.problem = {.m = kM, .n = kN, .k = kK, .op_a = op_a, .op_b = op_b}};
        c.set_tight_ld(8);
        SCOPED_TRACE(kernel.cubin().symbol + " " + c.text());
        CaseRun run(driver(), c, stream());
        run.fill(CaseRun::Data::integers, 7);
        const auto launch = [&](const Operands& o) { kernel.launch(kM, kN, kK, o, {2, false}, 4, stream()); };
        run.run(launch);
        ASSERT_EQ(run.inexact(), "");
        run.set_a(kRow, 5, std::numeric_limits<float>::quiet_NaN());
        run.set_b(70, kCol, std::numeric_limits<float>::infinity());
        run.set_b(71, kCol, -std::numeric_limits<float>::infinity());
        for (std::size_t i = 0; i < kM; ++i) {  // infinity minus infinity, or times zero, in every row
          run.set_a(i, 70, 0);
        }
        run.run(launch);
        for (std::size_t i = 0; i < kM; ++i) {
          for (std::size_t j = 0; j < kN; ++j) {
            const bool is_nan = i == kRow || j == kCol;
            ASSERT_EQ(std::isnan(run.result(i, j)), is_nan) << i << " " << j;
          }
        }
      }
    }
  }
}

TEST_F(WgmmaOnGpu, IsExactOverManyTilesPerBlock) {
  const Problem base = small_run() ? Problem{.m = 1032, .n = 968, .k = 264} : Problem{.m = 4104, .n = 3848, .k = 1032};
  const int sm_count = small_run() ? 8 : 132;
  for (const DType accumulator : {DType::f32, DType::f16}) {
    if (small_run() && accumulator == DType::f16) continue;
    for (const Op op_a : kOps) {
      for (const Op op_b : kOps) {
        const Workload problem({.m = base.m, .n = base.n, .k = base.k, .op_a = op_a, .op_b = op_b});
        const GemmTraits traits{.accumulator = accumulator, .op_a = op_a, .op_b = op_b};
        const OperandPool pool(driver(), problem, 0, std::int64_t{1} << 30);
        const OperandSet& set = pool.sets().front();
        const CheckKernels& check = gpu().state().check_kernels();
        for (const WgmmaKernel& kernel : kernels(traits)) {
          for (const LaunchConfig& raster : {LaunchConfig{8, false}, LaunchConfig{3, true}}) {
            check.fill_check(problem, set, 5, stream());
            const std::uint64_t before = check.digest(problem, pool, set, stream());
            kernel.launch(problem.m, problem.n, problem.k, OperandPool::operands(set, 1, 0), raster, sm_count,
                          stream());
            EXPECT_EQ(check.check(problem, set, 5, 1, 0, stream()), "") << kernel.cubin().symbol;
            EXPECT_EQ(check.digest(problem, pool, set, stream()), before) << kernel.cubin().symbol;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotgemm
