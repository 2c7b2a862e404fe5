// Every rung of the ladder compiles quickly, and its machine code has what its name says. Rungs that are not candidates
// may spill a little.

#include "nvrtc/compile_fixture.hpp"
#include "nvrtc/rung_evidence.hpp"

#include "ladder/ladder.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {
namespace {

class LadderCompile : public CompileMatrix {
 protected:
  /// The kernels of all rungs for `arch`, each once: f16 with sums in f16 and in f32, if that is legal.
  std::vector<MatrixCase> kernels(const std::string& arch) {
    std::vector<MatrixCase> cases;
    std::set<std::string> symbols;
    for (const Rung& rung : rungs()) {
      if (!rung.config) continue;
      for (const DType accumulator : {ladder_sums(rung.element), DType::f32}) {
        const GemmTraits traits = rung.traits(accumulator);
        if (!is_legal(*rung.config, traits, arch_limits(arch))) continue;
        MatrixCase one = gemm_case(*rung.config, traits, arch, bundle_);
        if (!rung.is_ours() && accumulator == ladder_sums(rung.element)) {
          of_symbol_[one.source.symbol].push_back(rung);
          one.kind = rung.name;  // one of each kernel of the material is in every sample
        }
        if (symbols.insert(one.source.symbol).second) cases.push_back(std::move(one));
      }
    }
    return cases;
  }

  /// Rungs of the material with their usual sums, by the symbol of their kernel.
  std::map<std::string, std::vector<Rung>> of_symbol_;
};

TEST_F(LadderCompile, EveryRungWithinASecondAndAHalfAsItsNameSays) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  most_ms_ *= 2;
#endif
  const std::vector<MatrixCase> all = kernels("sm_90a");
  ASSERT_GE(all.size(), 88U);
  const std::vector<MatrixCase> cases = sample(all);
  std::vector<KernelSource> sources;
  for (const MatrixCase& one : cases) sources.push_back(one.source);
  const auto built = builder_->build_all(sources, default_compile_jobs());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].source.symbol);
    ASSERT_TRUE(built[i].cubin) << built[i].failure;
    EXPECT_LE(least_ms(cases[i], built[i].cubin->compile_ms), most_ms_);
    EXPECT_LE(built[i].cubin->spill_bytes, 64) << "a few words may spill around the main loop, but not in it";
    EXPECT_LE((built[i].cubin->registers + 7) / 8 * 8 * cases[i].threads, arch_limits("sm_90a").registers_per_sm)
        << "it cannot be launched";
    for (const Rung& rung : of_symbol_[cases[i].source.symbol]) {
      SCOPED_TRACE(rung.label);
      RungEvidence(rung, built[i].cubin->image).expect();
    }
  }
}

/// The configs that rungs once had, which lack what the rungs' names say.
TEST_F(LadderCompile, EvidenceIsMissedWhereItIsMissing) {
  const auto evidence = [&](std::string_view label, auto change) {
    const Rung* const rung = &*std::ranges::find(rungs(), label, &Rung::label);
    KernelConfig other = *rung->config;
    change(other);
    const BuildResult built = builder_->build(render(other, rung->traits(), "sm_90a", bundle_));
    EXPECT_TRUE(built.cubin) << built.failure;
    return RungEvidence(*rung, built.cubin->image);
  };
  const RungEvidence transposed =
      evidence("f16x4+t8x8", [](KernelConfig& config) { std::get<FmaConfig>(config).transposed = true; });
  EXPECT_NONFATAL_FAILURE(transposed.expect(), "which transpose");
  const RungEvidence padded = evidence("f16x4+t8x8+bcf", [](KernelConfig& config) {
    std::get<FmaConfig>(config).packed = std::get<FmaConfig>(config).padded = true;
    std::get<FmaConfig>(config).group = 0;
  });
  EXPECT_NONFATAL_FAILURE(padded.expect(), "reads of 16 bytes");
  const RungEvidence shared = evidence("wmma", [](KernelConfig& config) { std::get<WmmaConfig>(config).stages = 1; });
  EXPECT_NONFATAL_FAILURE(shared.expect(), "from global memory");
  const RungEvidence one_set = evidence("mma2x4+warp4x4x2+stage2+dsmem+rr",
                                        [](KernelConfig& config) { std::get<MmaConfig>(config).fragment_buffers = 1; });
  EXPECT_NONFATAL_FAILURE(one_set.expect(), "register double buffers");
}

TEST_F(LadderCompile, ReducedRegistersAreFewerForTheSameWork) {
  const auto cubin_of = [&](std::string_view label, const char* arch) {
    const Rung rung = find_rungs(label).at(0);
    const BuildResult built = builder_->build(render(*rung.config, rung.traits(), arch, bundle_));
    EXPECT_TRUE(built.cubin) << built.failure;
    return built.cubin;
  };
  for (const char* arch : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(arch);
    const auto usual = cubin_of("mma2x4+warp4x4x2+stage2+dsmem", arch);
    const auto reduced = cubin_of("mma2x4+warp4x4x2+stage2+dsmem+rr", arch);
    ASSERT_TRUE(usual && reduced);
    EXPECT_LT(reduced->registers, usual->registers);
    EXPECT_EQ(reduced->spill_bytes, 0);
  }
}

TEST_F(LadderCompile, RungsOnAmpereAndAdaToo) {
  // Only two architectures: a kernel that compiles slowly on one is slow on all.
  for (const char* arch : {"sm_80", "sm_89"}) {
    const std::vector<MatrixCase> cases = kernels(arch);
    std::vector<KernelSource> sources;
    for (std::size_t i = 0; i < cases.size(); i += 7) sources.push_back(cases[i].source);
    ASSERT_GE(sources.size(), 9U);
    for (const BuildResult& result : builder_->build_all(sources, default_compile_jobs())) {
      EXPECT_TRUE(result.cubin) << result.failure;
    }
  }
}

}  // namespace
}  // namespace hotgemm
