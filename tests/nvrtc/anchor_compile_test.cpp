// Kernels with epilogues, for batches and for groups: plans without records find one that stays in registers and keeps
// its products asynchronous.

#include "nvrtc/compile_fixture.hpp"

#include "config/device_info.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "plan/choice.hpp"
#include "records/database.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kChains[] = {"bias+gelu",         "scale_a:vector+scale_b:vector+bias+relu+residual",
                                   "bias+aux+gelu_erf", "scale_a+scale_b+bias:row+silu+scale_d+scalars",
                                   "residual",          "dgelu+residual"};

constexpr std::size_t kNoChains = 0;

/// Problems of every arch and kind of types, with and without C, and aligned or not, in turns with each of the first
/// `chains` chains.
std::vector<std::pair<std::string, std::string>> problems_with(const std::string& more, std::size_t chains) {
  std::vector<std::pair<std::string, std::string>> all;
  std::size_t turn = 0;
  for (const char* arch : {"sm_75", "sm_80", "sm_89", "sm_90a"}) {
    for (const char* types :
         {"f16", "bf16", "f32", "f16*f16>f32", "e4m3", "e4m3*e4m3>e4m3", "s8*s8>s8", "s8*s8>bf16"}) {
      for (const char* sizes : {"4096 4096 4096", "512 2048 1024", "16 4096 4096"}) {
        for (const char* rest : {"", " beta=1", " align=4"}) {
          std::string problem = std::string(sizes) + " nt " + types + rest + more;
          if (chains > 0) problem += std::string(" epilogue=") + kChains[turn++ % chains];
          all.emplace_back(problem, arch);
        }
      }
    }
  }
  return all;
}

class AnchorCompile : public CompileMatrix {
 protected:
  /// The kernel of one of the first `most` choices that spills no more than plans accept.
  void expect_one_in_registers(const std::string& text, const std::string& arch, std::size_t most) {
    SCOPED_TRACE(text + " on " + arch);
    const Workload problem = parse_workload(text);
    const std::vector<Choice> best = choose(problem, arch, Database{DatabaseOptions{}}, {});
    for (std::size_t i = 0; i < std::min(best.size(), most); ++i) {
      const MatrixCase one = gemm_case(best[i].config, traits_of(problem, best[i].launch), arch, bundle_);
      const BuildResult built = builder_->build(one.source);
      ASSERT_TRUE(built.cubin) << built.failure;
      if (built.cubin->spill_bytes <= most_spill_bytes_) return check(one, *built.cubin);
    }
    ADD_FAILURE() << "each of the first " << most << " choices spills";
  }

  /// Expects it of each problem, or of one of `step` in a sample.
  void expect_some_in_registers(const std::vector<std::pair<std::string, std::string>>& problems, std::size_t step) {
    const SampleOptions options = SampleOptions::from_environment();
    if (options.full) step = 1;
    for (std::size_t i = options.full ? 0 : options.seed % step; i < problems.size(); i += step)
      expect_one_in_registers(problems[i].first, problems[i].second, 10);
  }
};

TEST_F(AnchorCompile, PlansOfGatedProblemsFindAKernelThatStaysInRegisters) {
  expect_one_in_registers("4096 28672 4096 nt bf16 epilogue=swiglu", "sm_90a", 1);
  expect_one_in_registers("4096 28672 4096 nn bf16 epilogue=bias+geglu", "sm_90a", 1);
  expect_one_in_registers("4096 28672 4096 nt f16 epilogue=swiglu:interleaved", "sm_90a", 1);
  expect_one_in_registers("4096 28672 4096 nt e4m3 epilogue=scale_a:vector+scale_b:vector+swiglu", "sm_90a", 4);
  expect_one_in_registers("4096 28672 4096 nn f16 epilogue=swiglu", "sm_80", 4);
}

TEST_F(AnchorCompile, PlansOfScalesOfBlocksFindAKernelThatStaysInRegisters) {
  most_spill_bytes_ = most_spill_bytes({.epilogue = {.residual = true}});
  const std::string blocks = " epilogue=scale_a:block_1x128+scale_b:block_128x128";
  expect_one_in_registers("4096 7168 2048 nt e4m3" + blocks, "sm_90a", 1);
  expect_one_in_registers("4096 7168 2048 nt e4m3 beta=1" + blocks + "+bias+gelu", "sm_90a", 1);
  expect_one_in_registers("4096 7168 2048 nt e4m3" + blocks + "+swiglu", "sm_90a", 3);
  expect_one_in_registers("256 4096 7168 nt e4m3 groups=8,masked" + blocks + "+swiglu:interleaved", "sm_90a", 3);
  expect_one_in_registers("64 4096 7168 nt e4m3 batch=16" + blocks, "sm_90a", 4);
}

TEST_F(AnchorCompile, TheFirstChoiceForALargeFusedProblemStaysInRegisters) {
  most_ms_ *= 2;
  most_spill_bytes_ = most_spill_bytes({.epilogue = {.residual = true}});
  for (const char* epilogue : {"bias+gelu", "bias+aux+gelu", "dgelu", "dgelu_erf+residual", "bias+amax+scale_d"}) {
    expect_one_in_registers(std::string("8192 14336 4096 nt bf16 epilogue=") + epilogue, "sm_90a", 1);
  }
}

/// Tiles of records of bare products, with as many accumulators as there are.
TEST_F(AnchorCompile, TheLargestTilesTakeEpiloguesOrAreRefused) {
  for (const char* tile :
       {"wgmma_m256_n208_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1", "wgmma_m256_n192_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1",
        "wgmma_m200_n128_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1_t1"}) {
    for (const char* epilogue : {"bias+gelu", "dgelu", "dgelu+residual"}) {
      const Workload problem = parse_workload(std::string("8192 8192 8192 nt bf16 epilogue=") + epilogue);
      const GemmTraits traits = traits_of(problem);
      const KernelConfig config = *parse_config(tile);
      const bool is_refused = !is_legal(config, traits, arch_limits("sm_90a"));
      EXPECT_EQ(is_refused,
                std::string(epilogue) == "dgelu+residual" && std::string(tile).find("n192") == std::string::npos)
          << tile << " " << epilogue;
      if (is_refused) continue;
      const BuildResult built = builder_->build(gemm_case(config, traits, "sm_90a", bundle_).source);
      ASSERT_TRUE(built.cubin) << built.failure;
      EXPECT_LE(built.cubin->spill_bytes, most_spill_bytes(problem)) << tile << " " << epilogue;
    }
  }
}

TEST_F(AnchorCompile, PlansOfFusedProblemsFindAKernelThatStaysInRegisters) {
  most_ms_ *= 1.3;
  most_spill_bytes_ = most_spill_bytes({.epilogue = {.residual = true}});
  expect_some_in_registers(problems_with("", std::size(kChains)), 9);
}

TEST_F(AnchorCompile, PlansOfBatchesFindAKernelThatStaysInRegisters) {
  most_ms_ *= 1.3;
  expect_some_in_registers(problems_with(" batch=16", kNoChains), 18);
}

TEST_F(AnchorCompile, PlansOfBatchesByPointersFindAKernelThatStaysInRegisters) {
  most_ms_ *= 1.3;
  expect_some_in_registers(problems_with(" batch=16,pointers", kNoChains), 58);
}

TEST_F(AnchorCompile, PlansOfGroupsFindAKernelThatStaysInRegisters) {
  most_ms_ *= 1.3;
  expect_some_in_registers(problems_with(" groups=16", kNoChains), 72);
  expect_some_in_registers(problems_with(" groups=16,masked", kNoChains), 144);
  expect_some_in_registers({{"4096 4096 4096 tn bf16 groups=16,k", "sm_90a"},
                            {"512 2048 1024 tn f16*f16>f32 groups=16,k beta=1", "sm_90a"},
                            {"512 2048 1024 tn bf16 groups=16,k epilogue=bias+gelu", "sm_90a"},
                            {"4096 4096 4096 tn f16 groups=16,k", "sm_80"}},
                           2);
}

TEST_F(AnchorCompile, PlansOfFusedBatchesFindAKernelThatStaysInRegisters) {
  most_ms_ *= 1.3;
  most_spill_bytes_ = most_spill_bytes({.epilogue = {.residual = true}});
  expect_some_in_registers(problems_with(" batch=16", std::size(kChains)), 27);
}

}  // namespace
}  // namespace hotgemm
