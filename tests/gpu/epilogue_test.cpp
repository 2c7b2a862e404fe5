// Epilogues on a GPU: anchors of every family and of several types, and the calls of a program.

#include "gpu/fused_on_gpu.hpp"

#include <iterator>
#include <string>

namespace hotgemm {
namespace {

// Their number is no multiple of 3, in which operands that are D take turns (FusedOnGpu::case_of).
constexpr const char* kChains[] = {"bias+clamp+residual+amax+scale_d",
                                   "scale_a:vector+scale_b:vector+bias+aux+relu+residual+scale_d+scalars",
                                   "bias+gelu",
                                   "scale_a+scale_b+bias:row+silu",
                                   "bias+gelu_erf+residual",
                                   "scale_a:vector+tanh",
                                   "scale_b+aux+sigmoid+scale_d",
                                   "drelu+residual+amax",
                                   "scale_b:vector+dgelu",
                                   "dsilu+residual+scale_d",
                                   "dgelu_erf"};

// Their number is no multiple of 3 either.
constexpr const char* kGates[] = {"swiglu",
                                  "scale_a:vector+scale_b:vector+bias+relu+gated+residual+amax+scale_d+scalars",
                                  "bias+geglu:interleaved",
                                  "scale_b+bias+relu+gated:interleaved+residual",
                                  "geglu_erf",
                                  "bias+aux+relu+gated",
                                  "aux+silu+gated:interleaved"};
// Nor is theirs.
constexpr const char* kBackward[] = {"bias+aux:bits+relu", "drelu:bits+bias_gradient",
                                     "scale_a:vector+bias:row+aux:bits+relu+residual+scale_d+bias_gradient:row",
                                     "dgelu+bias_gradient", "drelu:bits+residual+amax+bias_gradient:row"};
constexpr const char* kTypes[] = {"f16",  "bf16",           "f32",      "f16*f16>f32",
                                  "e4m3", "e4m3*e4m3>e4m3", "s8*s8>s8", "s8*s8>bf16"};

class EpilogueOnGpu : public FusedOnGpu {
 protected:
  template <std::size_t kCount>
  static FusedForm form_of(const char* const (&chains)[kCount]) {
    return [&chains](const Workload& bare, std::size_t turn) {
      Workload problem = bare;
      problem.epilogue = parse_workload(std::string("1 2 1 nt f16 epilogue=") + chains[turn % kCount]).epilogue;
      return problem;
    };
  }
};

TEST_F(EpilogueOnGpu, AnchorsComputeChains) {
  expect_anchors_right(kTypes, small_run() ? 19 : 5, small_run() ? 10 : 50, form_of(kChains));
}

/// The copy engine loads A and B, and lanes store D.
TEST_F(EpilogueOnGpu, AnchorsStoreChainsToRaggedRows) {
  constexpr const char* kSixteenBits[] = {"f16", "bf16"};
  constexpr const char* kOdd[] = {"203 309 272 nt "};
  constexpr const char* kRaggedD[] = {" align=16,16,2", " align=16,16,4", " align=16,16,2 beta=1"};
  expect_anchors_right(kSixteenBits, small_run() ? 13 : 2, small_run() ? 10 : 80, form_of(kChains), kOdd, kRaggedD);
}

TEST_F(EpilogueOnGpu, AnchorsComputeGates) {
  constexpr const char* kEven[] = {"203 312 272 nt ", "203 304 272 nn "};
  constexpr const char* kWithoutC[] = {" align=16", " align=4"};
  expect_anchors_right(kTypes, small_run() ? 61 : 5, small_run() ? 10 : 50, form_of(kGates), kEven, kWithoutC);
}

TEST_F(EpilogueOnGpu, AnchorsStoreBitsAndGradientsOfBiases) {
  constexpr const char* kRagged[] = {"203 312 272 nt ", "203 309 272 nn "};
  expect_anchors_right(kTypes, small_run() ? 61 : 5, small_run() ? 10 : 50, form_of(kBackward), kRagged);
}

TEST_F(EpilogueOnGpu, CallsPickAndRunKernelsWithBitsAndGradientsOfBiases) {
  constexpr const char* kProducts[] = {"1 4096 512 nt bf16",  "17 264 4096 nt f16",     "300 520 256 nn bf16 beta=1",
                                       "130 77 99 tn f16",    "64 64 64 tt f32",        "256 512 512 nt e4m3",
                                       "256 512 512 nn e4m3", "200 300 128 nn s8*s8>s8"};
  expect_calls_right(kProducts, std::size(kBackward), 5, form_of(kBackward));
}

TEST_F(EpilogueOnGpu, CallsPickAndRunFusedKernels) {
  constexpr const char* kProducts[] = {"1 4096 512 nt bf16",     "17 264 4096 nt f16", "300 520 256 nn bf16 beta=1",
                                       "130 77 99 tn f16",       "64 64 64 tt f32",    "256 512 512 nt e4m3",
                                       "200 300 128 nn s8*s8>s8"};
  expect_calls_right(kProducts, std::size(kChains), 5, form_of(kChains));
}

TEST_F(EpilogueOnGpu, CallsPickAndRunKernelsWithGates) {
  constexpr const char* kProducts[] = {"1 4096 512 nt bf16",      "300 528 256 nn bf16", "17 264 1024 nt f16",
                                       "130 78 99 tn f16",        "64 64 64 tt f32",     "256 512 512 nt e4m3",
                                       "200 300 128 nn s8*s8>s8", "520 1040 512 nt bf16"};
  expect_calls_right(kProducts, std::size(kGates), 5, form_of(kGates));
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
