// Kernels with epilogues stay in registers and do not serialise products.

#include "nvrtc/compile_fixture.hpp"

#include "config/traits.hpp"
#include "plan/candidates.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm {
namespace {

class FusedCompile : public CompileMatrix {
 protected:
  /// Each `step`-th anchor for the problem, from `first` on, with one of the epilogues in turns.
  void add_anchors(std::vector<MatrixCase>& cases, const std::string& problem, const std::string& arch,
                   std::size_t first, std::size_t step) {
    static const std::vector<std::string> kEpilogues = {"bias+gelu", "scale_a:vector+scale_b:vector+bias+relu+residual",
                                                        "bias+aux+gelu_erf",
                                                        "scale_a+scale_b+bias:row+silu+scale_d+scalars"};
    const std::vector<KernelConfig> all = anchors(parse_workload(problem), arch_limits(arch));
    for (std::size_t i = first % step; i < all.size(); i += step) {
      const Workload fused = parse_workload(problem + " epilogue=" + kEpilogues[i % kEpilogues.size()]);
      const GemmTraits traits = traits_of(fused);
      if (!is_legal(all[i], traits, arch_limits(arch))) continue;
      cases.push_back(gemm_case(all[i], traits, arch, bundle_));
    }
  }
};

TEST_F(FusedCompile, AnchorsOfEveryArchAndKindOfTypes) {
  most_ms_ *= 1.3;
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const std::string arch : {"sm_75", "sm_80", "sm_89", "sm_90a"}) {
    for (const char* types :
         {"f16", "bf16", "f32", "f16*f16>f32", "e4m3", "e4m3*e4m3>e4m3", "s8*s8>s8", "s8*s8>bf16"}) {
      for (const char* rest : {"", " beta=1", " align=2"}) {
        const bool is_byte = std::string(types).find('8') != std::string::npos || types[0] == 'e';
        const std::string align = is_byte && std::string(rest) == " align=2" ? " align=4" : rest;
        const bool is_f32 = std::string(types) == "f32" && std::string(rest) == " align=2";
        const std::string problem = std::string("512 512 512 nt ") + types + (is_f32 ? " align=4" : align);
        add_anchors(cases, problem, arch, turn++, arch == "sm_90a" ? 7 : 5);
      }
    }
  }
  ASSERT_GT(cases.size(), 100U);
  compile(cases, {.usual = 0.15, .changed = 0.25});
}

}  // namespace
}  // namespace hotgemm
