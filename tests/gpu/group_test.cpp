// Groups of rows on a GPU: the calls of a program, graphs that are replayed with other sizes, and kernels by name.

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
  unsigned seed = 1;
  for (const char* problem :
       {"1300 72 200 nt f16 groups=5", "3000 264 64 nn bf16 groups=7", "512 512 128 nt bf16 groups=130",
        "700 48 4096 nt f16 groups=3", "480 40 128 nt e4m3 groups=6", "700 80 64 nn s8 groups=5",
        "1024 128 64 nt tf32 groups=4", "500 60 70 nn f32 groups=11", "800 136 64 nt f16*f16>f32 groups=5",
        "240 40 32 nt f16 groups=3 epilogue=bias+relu+residual", "640 512 256 nt bf16 groups=64 epilogue=bias:row+silu",
        "90 8 0 nt f16 groups=3", "2048 1024 512 nt bf16 groups=1", "20 64 64 nt f16 groups=1000"}) {
    for (const std::int64_t multiple : {std::int64_t{1}, std::int64_t{16}}) {
      if (small_run() && seed++ % 3 != 0) continue;
      GroupCase c{.problem = parse_problem(problem), .offsets = {}, .multiple = multiple, .alpha = 2};
      c.offsets = drawn_offsets(c.problem.groups, c.problem.m, ++seed);
      expect_equal(c);
      c.offsets = drawn_offsets(c.problem.groups, c.problem.m, ++seed);
      c.beta = -1;
      c.in_place = multiple == 16;
      expect_equal(c);
    }
  }
}

TEST_F(GroupsOnGpu, OneGraphServesAnySizes) {
  for (const char* problem : {"2000 256 512 nt bf16 groups=33", "300 72 200 nn f16 groups=8"}) {
    GroupCase c{.problem = parse_problem(problem), .offsets = {}, .multiple = 16};
    c.offsets = drawn_offsets(c.problem.groups, c.problem.m, 1);
    Context& context = gpu().context();
    GroupRun run(driver(), c, stream());
    run.upload();
    context.gemm(stream(), c.problem, run.operands());  // plans
    const OwnedGraph graph =
        OwnedGraph::capture(driver(), stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
    for (unsigned seed = 2; seed < (small_run() ? 5 : 20); ++seed) {
      const std::vector<std::int32_t> offsets = drawn_offsets(c.problem.groups, c.problem.m, seed);
      SCOPED_TRACE(std::string(problem) + ", seed " + std::to_string(seed));
      run.upload();
      run.set_offsets(offsets);
      graph.launch(stream());
      EXPECT_EQ(run.difference_from(context), "");
    }
  }
}

/// Candidates of wgmma differ in schedule, clusters and stores.
TEST_F(GroupsOnGpu, KernelsOfEveryKindAreRight) {
  Context context(options_for(Policy::estimate, Gpu::cache_directory()));
  std::size_t turn = 0, kernels = 0;
  for (const char* text : {"1203 312 272 nt f16 groups=5 align=16", "1203 312 272 nn bf16 groups=5 align=16 beta=1",
                           "1203 312 272 nt f16 groups=5 align=2", "1203 312 272 nt f16*f16>f32 groups=5 align=16",
                           "1203 312 272 nt s8*s8>s8 groups=5 align=16", "1203 312 272 nt e4m3 groups=3 align=16"}) {
    const Workload problem = parse_workload(text);
    for (const KernelConfig& config : candidates(problem, arch_limits(gpu().arch()))) {
      if (++turn % (small_run() ? 997 : 199) != 0) continue;
      GroupCase c{.problem = problem,
                  .offsets = drawn_offsets(problem.groups, problem.m, static_cast<unsigned>(turn)),
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
  EXPECT_GT(kernels, small_run() ? 5U : 20U);
}

}  // namespace
}  // namespace hotgemm
