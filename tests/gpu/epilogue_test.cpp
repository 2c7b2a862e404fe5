// Epilogues on a GPU: anchors of every family and of several types, and the calls of a program.

#include "gpu/gpu_fixture.hpp"

#include "emulate/epilogue_reference.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kChains[] = {"bias+clamp+residual+amax+scale_d",
                                   "scale_a:vector+scale_b:vector+bias+aux+relu+residual+scale_d+scalars",
                                   "bias+gelu",
                                   "scale_a+scale_b+bias:row+silu",
                                   "bias+gelu_erf+residual",
                                   "scale_a:vector+tanh",
                                   "scale_b+aux+sigmoid+scale_d"};

constexpr const char* kGates[] = {
    "swiglu", "scale_a:vector+scale_b:vector+bias+relu+gated+residual+amax+scale_d+scalars", "bias+geglu:interleaved",
    "scale_b+bias+relu+gated:interleaved+residual", "geglu_erf"};

class EpilogueOnGpu : public GpuTest {
 protected:
  static GemmCase case_of(const Workload& problem, std::size_t turn) {
    GemmCase c{.problem = problem, .beta = problem.hints.beta_is_zero ? 0.0f : -1.0f};
    if (problem.types.a == DType::s8) c.alpha = size_bytes(problem.types.d) == 1 ? 0x1p-5f : 0x1p-8f;
    c.set_tight_ld(problem.hints.align_d >= 16 ? 16 : problem.hints.align_d / size_bytes(problem.types.d));
    c.in_place = c.beta != 0 && turn % 2 == 0;
    c.residual_in_place = problem.epilogue.residual && !c.in_place && turn / std::size(kChains) % 2 == 0;
    return c;
  }

  void expect_right(const GemmCase& c, const CaseRun::Launch& launch, double& worst) {
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run(launch);
    // The product of two sums of s8 has more bits than f32.
    if (emulate::is_exact(c.problem.epilogue) && !(c.problem.epilogue.is_gated() && is_integer(c.problem.types.a))) {
      EXPECT_EQ(run.inexact(), "");
    }
    EXPECT_EQ(run.stray_write(), "");
    run.fill(CaseRun::Data::normal, 8);
    run.run(launch);
    EXPECT_LE(run.worst_error(), 1.0);
    worst = std::max(worst, run.worst_error());
  }

  /// Checks one of `step` anchors for problems of all kinds of types. The chains take turns.
  void expect_anchors_right(const std::vector<std::string>& sizes, const std::vector<std::string>& rests,
                            std::span<const char* const> chains, std::size_t step) {
    const ArchLimits& arch = arch_limits(gpu().arch());
    std::vector<Gpu::KernelRequest> requests;
    std::vector<GemmCase> cases;
    std::size_t turn = 0;
    for (const char* types :
         {"f16", "bf16", "f32", "f16*f16>f32", "e4m3", "e4m3*e4m3>e4m3", "s8*s8>s8", "s8*s8>bf16"}) {
      for (const std::string& size : sizes) {
        for (const std::string& rest : rests) {
          const std::string bare = size + " " + types + rest;
          for (const KernelConfig& config : anchors(parse_workload(bare), arch)) {
            if (++turn % step != 0) continue;
            const Workload problem = parse_workload(bare + " epilogue=" + chains[turn / step % chains.size()]);
            const GemmCase c = case_of(problem, turn / step);
            if (!is_legal(config, traits_of(c.described()), arch)) continue;
            requests.push_back({config, traits_of(c.described())});
            cases.push_back(c);
          }
        }
      }
    }
    ASSERT_GE(cases.size(), small_run() ? 10U : 50U);
    const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
    double worst = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(to_string(requests[i].config) + " " + cases[i].text());
      const LaunchConfig launch = default_launch(requests[i].config, cases[i].described(), gpu().state().info());
      expect_right(cases[i], launcher(kernels[i], launch, cases[i].problem), worst);
    }
    std::printf("%zu kernels, worst error %.3f of its gate\n", cases.size(), worst);
  }
};

TEST_F(EpilogueOnGpu, AnchorsComputeChains) {
  expect_anchors_right({"203 312 272 nt"}, {" align=16", " align=16 beta=1", " align=4"}, kChains,
                       small_run() ? 19 : 5);
}
TEST_F(EpilogueOnGpu, AnchorsComputeGates) {
  expect_anchors_right({"203 312 272 nt", "203 304 272 nn"}, {" align=16", " align=4"}, kGates, small_run() ? 61 : 5);
}

TEST_F(EpilogueOnGpu, CallsPickAndRunFusedKernels) {
  double worst = 0;
  std::size_t turn = 0;
  for (const char* bare : {"1 4096 512 nt bf16", "17 264 4096 nt f16", "300 520 256 nn bf16 beta=1", "130 77 99 tn f16",
                           "64 64 64 tt f32", "256 512 512 nt e4m3", "200 300 128 nn s8*s8>s8"}) {
    for (const char* chain : kChains) {
      const std::size_t now = turn++;
      if (small_run() && now % 5 != 0) continue;
      const Workload problem = parse_workload(std::string(bare) + " epilogue=" + chain);
      const GemmCase c = case_of(problem, now);
      SCOPED_TRACE(c.text());
      expect_right(
          c, [&](const Operands& o) { gpu().context().gemm(stream(), c.problem, o); }, worst);
    }
  }
  std::printf("worst error %.3f of its gate\n", worst);
}

TEST_F(EpilogueOnGpu, CallsPickAndRunKernelsWithGates) {
  double worst = 0;
  std::size_t turn = 0;
  for (const char* bare :
       {"1 4096 512 nt bf16", "300 528 256 nn bf16", "17 264 1024 nt f16", "130 78 99 tn f16", "64 64 64 tt f32",
        "256 512 512 nt e4m3", "200 300 128 nn s8*s8>s8", "520 1040 512 nt bf16"}) {
    for (const char* chain : kGates) {
      const std::size_t now = turn++;
      if (small_run() && now % 5 != 0) continue;
      const GemmCase c = case_of(parse_workload(std::string(bare) + " epilogue=" + chain), now);
      SCOPED_TRACE(c.text());
      expect_right(
          c, [&](const Operands& o) { gpu().context().gemm(stream(), c.problem, o); }, worst);
    }
  }
  std::printf("worst error %.3f of its gate\n", worst);
}

/// The factors are read when the kernel runs: a kernel ahead in the stream may write them, and a graph replays with
/// what is there then.
TEST_F(EpilogueOnGpu, AGraphReadsTheFactorsOfItsReplay) {
  const Workload problem = parse_workload("64 256 512 nt bf16 epilogue=scale_a+scale_b+bias+scale_d+scalars");
  const GemmCase c = case_of(problem, 1);
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 3);
  const auto call = [&](const Operands& o) { gpu().context().gemm(stream(), c.problem, o); };
  run.run(call);
  EXPECT_EQ(run.inexact(), "");
  driver().check(driver().cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin a capture");
  call(run.operands());
  CUgraph graph = nullptr;
  driver().check(driver().cuStreamEndCapture(stream(), &graph), "end the capture");
  CUgraphExec exec = nullptr;
  driver().check(driver().cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate the graph");
  for (const unsigned seed : {4u, 5u}) {
    run.fill(CaseRun::Data::integers, seed);
    run.run([&](const Operands&) { driver().check(driver().cuGraphLaunch(exec, stream()), "replay the graph"); });
    EXPECT_EQ(run.inexact(), "") << "seed " << seed;
  }
  driver().check(driver().cuGraphExecDestroy(exec), "destroy the graph");
  driver().check(driver().cuGraphDestroy(graph), "destroy the graph");
}

}  // namespace
}  // namespace hotgemm
