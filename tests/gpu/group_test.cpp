// Groups on a GPU: the calls of a program, graphs that are replayed with other sizes, and kernels by name.

#include "gpu/gpu_fixture.hpp"
#include "gpu/group_run.hpp"

#include "gpu/stream.hpp"
#include "plan/candidates.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

class GroupsOnGpu : public GpuTest {
 protected:
  void expect_equal(const GroupCase& c) {
    SCOPED_TRACE(c.text());
    EXPECT_EQ(GroupRun(driver(), c, stream()).difference(gpu().context()), "");
  }
};

TEST_F(GroupsOnGpu, ACallEqualsACallForEachGroup) {
  unsigned seed = 1, turn = 0;
  for (const char* problem : {"1300 72 200 nt f16 groups=5",
                              "3000 264 64 nn bf16 groups=7",
                              "512 512 128 nt bf16 groups=130",
                              "700 48 4096 nt f16 groups=3",
                              "480 40 128 nt e4m3 groups=6",
                              "700 80 64 nn s8 groups=5",
                              "1024 128 64 nt tf32 groups=4",
                              "500 60 70 nn f32 groups=11",
                              "800 136 64 nt f16*f16>f32 groups=5",
                              "240 40 32 nt f16 groups=3 epilogue=bias+relu+residual",
                              "640 512 256 nt bf16 groups=64 epilogue=bias:row+silu",
                              "90 8 0 nt f16 groups=3",
                              "2048 1024 512 nt bf16 groups=1",
                              "20 64 64 nt f16 groups=1000",
                              "700 136 64 nt bf16 groups=6 epilogue=bias+clamp+residual+amax",
                              "100 72 200 nt f16 groups=5,masked",
                              "512 264 64 nn bf16 groups=7,masked",
                              "33 512 128 nt bf16 groups=70,masked epilogue=bias+relu+amax",
                              "60 48 64 tn f16 groups=3,masked epilogue=bias:row+residual",
                              "64 80 64 nt e4m3 groups=6,masked",
                              "90 8 0 nt f16 groups=3,masked",
                              "9 64 64 nt bf16 groups=1,masked",
                              "136 72 1000 tn f16 groups=5,k",
                              "512 256 4096 tn bf16 groups=7,k",
                              "72 136 900 tn bf16*bf16>f32 groups=40,k",
                              "264 520 700 tn f16 groups=4,k epilogue=bias:row+clamp+residual+amax",
                              "60 48 300 tn f32 groups=3,k",
                              "60 48 300 tn s8*s8>s8 groups=3,k epilogue=bias",
                              "64 64 20 tn f16 groups=100,k",
                              "64 64 0 tn f16 groups=3,k"}) {
    for (const std::int64_t multiple : {std::int64_t{1}, std::int64_t{16}}) {
      if (turn++ % (small_run() ? 7 : 1) != 0) continue;
      GroupCase c{.problem = parse_problem(problem), .numbers = {}, .multiple = multiple, .alpha = 2};
      c.numbers = drawn_numbers(c.problem, ++seed);
      expect_equal(c);
      c.numbers = drawn_numbers(c.problem, ++seed);
      c.beta = -1;
      c.in_place = multiple == 16;
      expect_equal(c);
    }
  }
}

TEST_F(GroupsOnGpu, OneGraphServesAnySizes) {
  unsigned turn = 0;
  for (const char* problem :
       {"2000 256 512 nt bf16 groups=33", "300 72 200 nn f16 groups=8", "200 256 512 nt bf16 groups=33,masked",
        "300 72 200 nn f16 groups=8,masked", "256 384 3000 tn bf16 groups=9,k", "72 40 300 tn f16 groups=8,k"}) {
    if (small_run() && turn++ % 2 != 0) continue;
    GroupCase c{.problem = parse_problem(problem), .numbers = {}, .multiple = 16};
    c.numbers = drawn_numbers(c.problem, 1);
    Context& context = gpu().context();
    GroupRun run(driver(), c, stream());
    run.upload();
    context.gemm(stream(), c.problem, run.operands());  // plans
    const OwnedGraph graph =
        OwnedGraph::capture(driver(), stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
    for (unsigned seed = 2; seed < (small_run() ? 5 : 20); ++seed) {
      const std::vector<std::int32_t> numbers = drawn_numbers(c.problem, seed);
      SCOPED_TRACE(std::string(problem) + ", seed " + std::to_string(seed));
      run.upload();
      run.set_numbers(numbers);
      graph.launch(stream());
      EXPECT_EQ(run.difference_from(context), "");
    }
  }
}

/// Candidates of wgmma differ in schedule, clusters and stores.
TEST_F(GroupsOnGpu, KernelsOfEveryKindAreRight) {
  Context context(options_for(Policy::estimate, Gpu::cache_directory()));
  std::size_t turn = 0, kernels = 0;
  for (const char* text :
       {"1203 312 272 nt f16 groups=5 align=16", "1203 312 272 nn bf16 groups=5 align=16 beta=1",
        "1203 312 272 nt f16 groups=5 align=2", "1203 312 272 nt f16*f16>f32 groups=5 align=16",
        "1203 312 272 nt s8*s8>s8 groups=5 align=16", "1203 312 272 nt e4m3 groups=3 align=16",
        "1203 312 272 nn s8*s8>s8 groups=5 align=16", "300 312 272 tt e4m3 groups=5,masked align=16",
        "300 312 272 nt f16 groups=5,masked align=16", "300 312 272 nn bf16 groups=5,masked align=16 beta=1",
        "312 328 1203 tn f16 groups=5,k align=16", "312 328 1203 tn bf16 groups=5,k align=16 beta=1",
        "312 328 1203 tn f16*f16>f32 groups=5,k align=16"}) {
    const Workload problem = parse_workload(text);
    for (const KernelConfig& config : candidates(problem, arch_limits(gpu().arch()))) {
      if (++turn % (small_run() ? 2003 : 199) != 0) continue;
      GroupCase c{.problem = problem,
                  .numbers = drawn_numbers(problem, static_cast<unsigned>(turn)),
                  .multiple = problem.hints.align_a < 16 ? 1 : 16,
                  .alpha = problem.types.d == DType::s8 ? 0x1p-4f : 1.0f,
                  .beta = problem.hints.beta_is_zero ? 0.0f : 1.0f};
      SCOPED_TRACE(to_string(config) + " for " + c.text());
      GroupRun run(driver(), c, stream());
      const Workload described = describe(c.problem, run.operands());
      if (!is_legal(config, traits_of(described), arch_limits(gpu().arch()))) continue;
      context.pin(described, to_string(config));
      EXPECT_EQ(run.difference(context), "");
      ++kernels;
    }
  }
  std::printf("%zu kernels\n", kernels);
  EXPECT_GT(kernels, small_run() ? 5U : 40U);
}

}  // namespace
}  // namespace hotgemm
