// Kernels with epilogues: plans find one that stays in registers and keeps its products asynchronous.

#include "nvrtc/compile_fixture.hpp"

#include "config/device_info.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kChains[] = {"bias+gelu", "scale_a:vector+scale_b:vector+bias+relu+residual", "bias+aux+gelu_erf",
                                   "scale_a+scale_b+bias:row+silu+scale_d+scalars", "residual"};

/// Problems of every arch and kind of types, in turns with each chain, with and without C, and aligned or not.
std::vector<std::pair<std::string, std::string>> fused_problems() {
  std::vector<std::pair<std::string, std::string>> all;
  std::size_t turn = 0;
  for (const char* arch : {"sm_75", "sm_80", "sm_89", "sm_90a"}) {
    for (const char* types :
         {"f16", "bf16", "f32", "f16*f16>f32", "e4m3", "e4m3*e4m3>e4m3", "s8*s8>s8", "s8*s8>bf16"}) {
      for (const char* sizes : {"4096 4096 4096", "512 2048 1024", "16 4096 4096"}) {
        for (const char* rest : {"", " beta=1", " align=4"}) {
          const std::string chain = kChains[turn++ % std::size(kChains)];
          all.emplace_back(std::string(sizes) + " nt " + types + rest + " epilogue=" + chain, arch);
        }
      }
    }
  }
  return all;
}

class FusedCompile : public CompileMatrix {
 protected:
  /// The kernel of one of the `most` best anchors that spills no more than plans accept.
  void expect_one_in_registers(const std::string& text, const std::string& arch, std::size_t most) {
    SCOPED_TRACE(text + " on " + arch);
    const Workload problem = parse_workload(text);
    const std::vector<Prediction> best = predict(anchors(problem, arch_limits(arch)), problem, nominal_device(arch));
    for (std::size_t i = 0; i < std::min(best.size(), most); ++i) {
      const LaunchConfig launch = default_launch(best[i].config, problem, nominal_device(arch));
      const MatrixCase one = gemm_case(best[i].config, traits_of(problem, launch), arch, bundle_);
      const BuildResult built = builder_->build(one.source);
      ASSERT_TRUE(built.cubin) << built.failure;
      if (built.cubin->spill_bytes <= most_spill_bytes_) return check(one, *built.cubin);
    }
    ADD_FAILURE() << "each of the " << most << " best anchors spills";
  }
};

TEST_F(FusedCompile, PlansFindAKernelThatStaysInRegisters) {
  most_ms_ *= 1.3;
  most_spill_bytes_ = most_spill_bytes({.epilogue = {.residual = true}});
  const auto problems = fused_problems();
  const SampleOptions options = SampleOptions::from_environment();
  const std::size_t step = options.full ? 1 : 9;
  for (std::size_t i = options.full ? 0 : options.seed % step; i < problems.size(); i += step) {
    expect_one_in_registers(problems[i].first, problems[i].second, 4);
  }
}

}  // namespace
}  // namespace hotgemm
