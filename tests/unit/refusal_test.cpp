#include "config/refusal.hpp"

#include "config/traits.hpp"
#include "sweep_sample.hpp"
#include "unit/plan_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace hotgemm {
namespace {

using testing::StartsWith;

std::string of(const KernelConfig& config, const char* arch = "sm_90a", const GemmTraits& traits = {}) {
  return refusal(config, traits, arch);
}

TEST(Refusal, IsNoneWhereTheConfigIsLegalAndOneWhereItIsNot) {
  std::size_t index = 0;
  for (const std::string& arch : known_archs()) {
    for (const std::string& other : known_archs()) {
      for (const KernelConfig& config : candidates(GemmTraits{}, arch_limits(other))) {
        if (!is_drawn(index++, 4)) continue;
        const bool legal = is_legal(config, GemmTraits{}, arch_limits(arch));
        ASSERT_EQ(of(config, arch.c_str()).empty(), legal) << to_string(config) << " on " << arch;
      }
    }
  }
}

TEST(Refusal, NamesTheLimitOfABlock) {
  EXPECT_EQ(of(MmaConfig{.warps_m = 8, .warps_n = 8}), "threads: 2048 per block, 1024 at most");
  EXPECT_EQ(of(MmaConfig{.block_m = 256, .block_n = 256, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 5}),
            "shared memory: 327680 bytes per block, 232448 at most");
  EXPECT_EQ(of(MmaConfig{.block_k = 64, .stages = 4}, "sm_89"),
            "shared memory: 131072 bytes per block, 101376 at most");
}

TEST(Refusal, NamesTheLimitOfAnSm) {
  EXPECT_EQ(
      of(MmaConfig{.block_m = 256, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 2}),
      "registers: 512 for accumulators and 128 for fragments leave too few for the rest, a thread has 255 at most");
  EXPECT_EQ(of(MmaConfig{.block_k = 64, .stages = 4, .blocks_per_sm = 2}),
            "shared memory: 2 blocks of 132096 bytes are to be resident, an SM has 233472");
  EXPECT_EQ(of(MmaConfig{.block_m = 64, .block_n = 64, .warps_m = 4, .warps_n = 4, .blocks_per_sm = 4}, "sm_89"),
            "threads: 4 blocks of 512 are to be resident, an SM has room for 1536");
}

TEST(Refusal, CountsRegistersOfCopies) {
  const FmaConfig config{.block_m = 256, .block_n = 128, .block_k = 64, .thread_m = 16, .stages = 2, .access = 4};
  const GemmTraits f32{.element = DType::f32, .vec_a = 4, .vec_b = 4, .vec_d = 4};
  EXPECT_EQ(of(config, "sm_90a", f32),
            "registers: 128 for accumulators, 96 for copies and 48 for fragments leave too few for the rest, a thread "
            "has 255 at most");
}

/// Also of words that no access and no k-tile fills.
TEST(Refusal, IsAnAnswerForWordsOfS8) {
  const GemmTraits s8 = aligned_traits({DType::s8, DType::s32, DType::s8, DType::s32}, {Op::n, Op::t});
  for (const int block_k : {1, 2, 3, 4, 7, 8, 128, 1024}) {
    for (const int access : {1, 2, 3, 4, 16, 32}) {
      for (const int stages : {0, 1, 2}) {
        const FmaConfig config{.block_k = block_k, .stages = stages, .access = access, .packed = false};
        EXPECT_EQ(of(config, "sm_90a", s8).empty(), is_legal(config, s8, arch_limits("sm_90a")))
            << to_string(KernelConfig(config)) << ": " << of(config, "sm_90a", s8);
      }
    }
  }
}

TEST(Refusal, NamesTheInstructions) {
  EXPECT_EQ(of(MmaConfig{.stages = 2}, "sm_75"), "instructions: sm_75 lacks cp.async and mma.m16n8k16");
  EXPECT_EQ(of(WgmmaConfig{.block_n = 128, .stages = 3}, "sm_80"), "instructions: sm_80 has no wgmma");
  EXPECT_EQ(of(WgmmaConfig{}, "sm_80"), "instructions: sm_80 has no wgmma") << "nor shared memory enough";
}

TEST(Refusal, NamesWhatAFamilyHasNoKernelsFor) {
  const GemmTraits f32{.element = DType::f32, .vec_a = 4, .vec_b = 4, .vec_d = 4};
  EXPECT_EQ(of(MmaConfig{}, "sm_90a", f32), "types: family mma has no such kernel of f32");
  const GemmTraits f16_sums{.accumulator = DType::f16};
  EXPECT_EQ(of(SimtConfig{}, "sm_90a", f16_sums), "accumulation: this kernel of family simt takes no sums in f16");
  EXPECT_EQ(of(WgmmaConfig{}, "sm_90a", {.vec_b = 2}),
            "alignment: A, B and D are aligned to 16, 4 and 16 bytes, too little for this kernel of family wgmma");
  const KernelConfig narrow_b = WgmmaConfig{.block_n = 24, .consumers = 1};
  EXPECT_EQ(of(narrow_b, "sm_90a", {.op_b = Op::t}), "");
  EXPECT_EQ(of(narrow_b), "layout: no such kernel of family wgmma for nn");
}

TEST(Refusal, IsAnAnswerToAnyNumbers) {
  for_each_family([]<class Config>(std::type_identity<Config>) {
    Config c;
    Config::visit_fields(c, [&](const ConfigField& field, auto& member) {
      if constexpr (std::is_same_v<decltype(member), int&>) {
        const int before = member;
        EXPECT_GE(before, field.least) << "the default of " << field.name << " is below the `least` of its field";
        for (const int value : {0, 1, 7, 1023, 1024, 1025, 2147483647}) {
          member = value;
          const std::string reason = of(c);
          const bool may_be_legal = reason.empty() || (value >= field.least && value <= 1024);
          const bool legal = may_be_legal && is_legal(c, GemmTraits{}, arch_limits("sm_90a"));
          EXPECT_EQ(reason.empty(), legal) << field.name << " " << value;
        }
        member = before;
      }
    });
  });
  EXPECT_THAT(of(MmaConfig{.warps_m = 0}), StartsWith("warps_m: 0, 1 at least"));
  EXPECT_THAT(of(MmaConfig{.stages = 0}), StartsWith("stages: 0, 1 at least"));
  EXPECT_EQ(of(FmaConfig{.thread_m = 1024}), "threads: 0 per block, 32 at least");
  EXPECT_EQ(of(FmaConfig{.stages = 0, .access = 1, .packed = false, .padded = false}), "");
  EXPECT_THAT(of(MmaConfig{.block_m = 1024, .block_n = 1024, .block_k = 1024, .stages = 1024}),
              StartsWith("shared memory: 4294967296 bytes per block"));
}

TEST(Refusal, OfTheRestSaysWhatAndWhere) {
  const KernelConfig odd = MmaConfig{.block_m = 100};
  EXPECT_EQ(of(odd), to_string(odd) + " is not legal for " + to_string(GemmTraits{}) + " on sm_90a");
}

}  // namespace
}  // namespace hotgemm
