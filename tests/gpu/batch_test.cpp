// Batches on a GPU: the calls of a program, and kernels of every kind by name.

#include "gpu/batch_run.hpp"
#include "gpu/gpu_fixture.hpp"

#include "config/repack.hpp"
#include "gpu/stream.hpp"
#include "plan/candidates.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

class BatchOnGpu : public GpuTest {
 protected:
  void expect_equal(const BatchCase& c) {
    SCOPED_TRACE(c.text());
    EXPECT_EQ(BatchRun(driver(), c, stream()).difference(gpu().context()), "");
  }
};

TEST_F(BatchOnGpu, ACallEqualsACallForEachProduct) {
  std::size_t turn = 0;
  for (const char* problem : {"130 72 200 nt f16 batch=5",
                              "300 264 64 nn bf16 batch=7",
                              "128 128 128 tn f16 batch=130",
                              "33 48 96 tt bf16 batch=9",
                              "64 64 4096 nt f16 batch=3",
                              "48 40 128 nt e4m3 batch=6",
                              "70 80 64 nn s8 batch=5",
                              "256 128 64 nt tf32 batch=4",
                              "50 60 70 nn f32 batch=11",
                              "200 136 64 nt f16*f16>f32 batch=5",
                              "24 40 32 nt f16 batch=3 epilogue=bias+relu+residual",
                              "1 512 256 nt bf16 batch=64",
                              "9 8 0 nt f16 batch=3",
                              "16 16 16 nt f16 batch=40000",
                              "130 72 200 nt f16 batch=5,pointers",
                              "300 264 64 nn bf16 batch=7,pointers",
                              "128 128 128 tn f16 batch=130,pointers",
                              "64 64 4096 nt f16 batch=3,pointers",
                              "48 40 128 nt e4m3 batch=6,pointers",
                              "70 80 64 nn s8 batch=5,pointers",
                              "50 60 70 nn f32 batch=1,pointers",
                              "200 136 64 nt f16*f16>f32 batch=5,pointers",
                              "24 40 32 nt f16 batch=3,pointers epilogue=bias+relu+residual",
                              "16 16 16 nt f16 batch=40000,pointers"}) {
    for (const std::int64_t multiple : {std::int64_t{1}, std::int64_t{16}}) {
      for (const bool beside : {false, true}) {
        if (small_run() && turn++ % 3 != 0) continue;
        BatchCase c{.problem = parse_problem(problem), .multiple = multiple, .alpha = 2, .beside = beside};
        if (c.problem.batch > 1000 && (beside || small_run())) continue;
        expect_equal(c);
        c.shares_a = !beside, c.shares_b = beside;
        expect_equal(c);
        c.beta = -1;
        c.in_place = multiple == 16;
        expect_equal(c);
      }
    }
  }
}

TEST_F(BatchOnGpu, AReplayReadsThePointersThatAreThereThen) {
  Context& context = gpu().context();
  for (const std::int64_t multiple : {std::int64_t{1}, std::int64_t{16}}) {
    const BatchCase c{.problem = parse_problem("300 264 128 nt bf16 batch=7,pointers"), .multiple = multiple};
    BatchRun run(driver(), c, stream());
    run.upload(0);
    context.gemm(stream(), c.problem, run.operands());  // plans
    const OwnedGraph graph =
        OwnedGraph::capture(driver(), stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
    for (const std::int64_t turn : {0, 1, 5}) {
      run.upload(turn);
      graph.launch(stream());
      EXPECT_EQ(run.difference_from(context), "") << turn;
    }
  }
}

/// Anchors of wgmma differ in schedule, clusters, stores and loads.
TEST_F(BatchOnGpu, KernelsOfEveryKindAreRight) {
  Context context(options_for(Policy::estimate, Gpu::cache_directory()));
  std::size_t turn = 0, kernels = 0, copying = 0;
  for (const char* text :
       {"203 312 272 nt f16 batch=5 align=16", "203 312 272 nn bf16 batch=5 align=16 beta=1",
        "203 312 272 nt f16 batch=5 align=2", "203 311 272 nt f16*f16>f32 batch=5 align=16,16,4",
        "203 312 272 nt s8*s8>s8 batch=5 align=16", "203 312 272 nt e4m3 batch=3 align=16",
        "203 311 271 tn bf16 batch=5 align=2", "203 312 272 nn s8 batch=5 align=16",
        "203 311 272 tn tf32 batch=5 align=4", "203 312 272 nt f16 batch=5,pointers align=16",
        "203 312 272 nn bf16 batch=5,pointers align=16 beta=1", "203 312 272 nt f16 batch=5,pointers align=2"}) {
    const Workload problem = parse_workload(text);
    const std::int64_t multiple = problem.hints.align_a < 16 ? 1 : 16;
    for (const KernelConfig& config : candidates(problem, arch_limits(gpu().arch()))) {
      if (++turn % (small_run() ? 1999 : 397) != 0) continue;
      const BatchCase c{.problem = problem,
                        .multiple = multiple,
                        .alpha = problem.types.d == DType::s8 ? 0x1p-4f : 1.0f,
                        .beta = problem.hints.beta_is_zero ? 0.0f : 1.0f};
      SCOPED_TRACE(to_string(config) + " for " + c.text());
      BatchRun run(driver(), c, stream());
      const Workload described = describe(c.problem, run.operands());
      const LaunchConfig launch = with_repacks({}, config, described);
      if (!is_legal(config, traits_of(described, launch), arch_limits(gpu().arch()))) continue;
      context.pin(described, to_string(config));
      EXPECT_EQ(run.difference(context), "");
      ++kernels;
      if (repacks(launch)) ++copying;
    }
  }
  std::printf("%zu kernels, %zu of them behind copies\n", kernels, copying);
  EXPECT_GT(kernels, small_run() ? 5U : 30U);
  EXPECT_GT(copying, small_run() ? 0U : 10U);
}

}  // namespace
}  // namespace hotgemm
