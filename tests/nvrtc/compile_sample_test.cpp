#include "nvrtc/compile_sample.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kGolden = "hotgemm_mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_f16_f32_nn_a8b8d8_c0";

/// 120 kernels of three families for four architectures; one of them is golden.
std::vector<SampledKernel> kernels() {
  std::vector<SampledKernel> all;
  for (int i = 0; i < 120; ++i) {
    const std::string family = i % 3 == 0 ? "mma" : i % 3 == 1 ? "wgmma" : "simt";
    all.push_back(
        {"hotgemm_" + family + "_m" + std::to_string(i), "sm_" + std::to_string(i % 40 == 0 ? 75 : 80 + i % 3)});
  }
  all[77].symbol = kGolden;
  return all;
}

TEST(CompileSample, HasATwentiethOrTwelveThatItsSeedRepeats) {
  const auto sample = sample_kernels(kernels(), {.seed = 5});
  EXPECT_EQ(sample.size(), 12U);
  EXPECT_EQ(sample, sample_kernels(kernels(), {.seed = 5}));
  EXPECT_NE(sample, sample_kernels(kernels(), {.seed = 6}));
}

TEST(CompileSample, SeedsReachEveryKernel) {
  std::set<std::size_t> reached;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const std::size_t i : sample_kernels(kernels(), {.seed = seed})) reached.insert(i);
  }
  EXPECT_EQ(reached.size(), kernels().size());
}

TEST(CompileSample, HasGoldenKernelsAndEveryArchitecture) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::set<std::string> archs, symbols;
    for (const std::size_t i : sample_kernels(kernels(), {.seed = seed})) {
      archs.insert(kernels()[i].arch);
      symbols.insert(kernels()[i].symbol);
    }
    EXPECT_TRUE(symbols.contains(kGolden));
    EXPECT_EQ(archs.size(), 4U);
  }
}

TEST(CompileSample, HasMoreOfAFamilyWhoseTemplateChanged) {
  for (const char* changed : {"wgmma.cuh", "shared/gemm_types.hpp shared/wgmma_config.hpp"}) {
    std::size_t count = 0;
    const auto sample = sample_kernels(kernels(), {.changed = changed});
    for (const std::size_t i : sample) count += kernels()[i].symbol.starts_with("hotgemm_wgmma") ? 1 : 0;
    EXPECT_EQ(sample.size(), 30U) << changed;
    EXPECT_GE(count, 24U) << changed;
  }
}

TEST(CompileSample, OfAChangedFamilyIsBoundedAndItsSeedsReachEveryKernel) {
  std::vector<SampledKernel> all;
  for (int i = 0; i < 100; ++i) all.push_back({"hotgemm_wgmma_m" + std::to_string(i), "sm_90a"});
  std::set<std::size_t> reached;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto sample = sample_kernels(all, {.seed = seed, .changed = "wgmma.cuh"});
    EXPECT_EQ(sample.size(), 25U);
    reached.insert(sample.begin(), sample.end());
  }
  EXPECT_EQ(reached.size(), all.size());
}

TEST(CompileSample, HasAThirdOfTheKindsOfEveryFamilyAndItsSeedsReachEach) {
  std::vector<SampledKernel> all = kernels();
  for (std::size_t i = 0; i < all.size(); ++i) all[i].kind = std::to_string(i / 3 % 8);
  std::set<std::string> reached;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const char* changed : {"", "wgmma.cuh"}) {
      std::map<std::string, std::set<std::string>> kinds;
      const SampleOptions options{.seed = seed, .changed = changed, .share = {.usual = 0.01, .changed = 0.01}};
      for (const std::size_t i : sample_kernels(all, options)) {
        kinds[all[i].symbol.substr(0, 12)].insert(all[i].kind);
        reached.insert(all[i].symbol.substr(0, 12) + all[i].kind);
      }
      for (const auto& [family, some] : kinds) EXPECT_GE(some.size(), 3U) << family << ", seed " << seed;
    }
  }
  EXPECT_EQ(reached.size(), 24U);
}

TEST(CompileSample, TakesAllOfFewAndAllWhereAsked) {
  EXPECT_EQ(sample_kernels(kernels(), {.full = true}).size(), 120U);
  EXPECT_EQ(sample_kernels(std::vector<SampledKernel>(12, {"hotgemm_mma_m1", "sm_80"}), {}).size(), 12U);
}

TEST(CompileSample, OfNothingIsAnError) {
  EXPECT_THROW(sample_kernels({}, {}), std::logic_error);
  EXPECT_THROW(sample_kernels({}, {.full = true}), std::logic_error);
}

}  // namespace
}  // namespace hotgemm
