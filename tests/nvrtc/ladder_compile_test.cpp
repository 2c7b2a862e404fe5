// Every rung of the ladder compiles quickly. Rungs that are not candidates may spill a little.

#include "nvrtc/compile_fixture.hpp"

#include "gpu/cubin_memory.hpp"
#include "ladder/ladder.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
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
        if (symbols.insert(one.source.symbol).second) cases.push_back(std::move(one));
      }
    }
    return cases;
  }
};

TEST_F(LadderCompile, EveryRungWithinASecondAndAHalf) {
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
    const auto memory = cubin_memory(*built[i].cubin);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->local_store_bytes + memory->local_load_bytes, built[i].cubin->spill_bytes)
        << "ptxas counts others";
    EXPECT_LE(built[i].cubin->spill_bytes, 64) << "a few words may spill around the main loop, but not in it";
    EXPECT_LE((built[i].cubin->registers + 7) / 8 * 8 * cases[i].threads, arch_limits("sm_90a").registers_per_sm)
        << "it cannot be launched";
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
