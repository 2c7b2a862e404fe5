#include "config/kernel_config.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

TEST(KernelConfig, NamesRoundTrip) {
  std::map<std::string, KernelConfig> names;
  for (const std::string& arch : known_archs()) {
    for (const TypePair& types : kAllTypes) {
      for (const Layout& layout : kLayouts) {
        for (const KernelConfig& config : candidates(make_traits(types, layout), arch_limits(arch))) {
          const std::string name = to_string(config);
          const auto [it, is_new] = names.emplace(name, config);
          ASSERT_EQ(it->second, config) << name << " names two configs";
          if (!is_new) continue;
          ASSERT_EQ(parse_config(name), config) << name;
        }
      }
    }
  }
  EXPECT_GE(names.size(), 300U);
}

TEST(KernelConfig, NamesAreStable) {
  // Tuning records and cache entries are found by these names.
  EXPECT_EQ(to_string(KernelConfig(MmaConfig{})), "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1");
  EXPECT_EQ(to_string(KernelConfig(SimtConfig{})), "simt_m64_n64_k16_tm4_tn4");
  EXPECT_EQ(to_string(KernelConfig(WgmmaConfig{})), "wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1");
  EXPECT_EQ(to_string(KernelConfig(WmmaConfig{})), "wmma_m128_n128_k16_wm4_wn2_fm16_s1_a1_p1_b1");
}

TEST(KernelConfig, AddedFieldsAreNamedWhereTheyDiffer) {
  const MmaConfig naive{.block_m = 16,
                        .block_n = 8,
                        .block_k = 16,
                        .warps_m = 1,
                        .warps_n = 1,
                        .stages = 1,
                        .swizzle = false,
                        .fragment_buffers = 1,
                        .store = kDirectStore,
                        .async_copy = false,
                        .padded = false,
                        .b_matrices = 2,
                        .serpentine = false};
  EXPECT_EQ(to_string(KernelConfig(naive)), "mma_m16_n8_k16_wm1_wn1_s1_x0_f1_e0_b1_a0_p0_l2_z0");
  const MmaConfig shuffled{.store = kShuffledStore, .b_matrices = 2};
  EXPECT_EQ(to_string(KernelConfig(shuffled)), "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e2_b1_l2");
  for (const KernelConfig& config : {KernelConfig(naive), KernelConfig(shuffled)}) {
    EXPECT_EQ(parse_config(to_string(config)), config) << to_string(config);
  }
  for (const char* text : {
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_a1",     // a field with its default value
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_l4",     // a field with its default value
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_z0_p0",  // another order
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_p2",     // not a bool
       }) {
    EXPECT_EQ(parse_config(text), std::nullopt) << text;
  }
}

TEST(KernelConfig, NoCandidateHasAFieldOfARung) {
  for_each_mma_candidate([](const MmaConfig& c, const GemmTraits&) { ASSERT_NE(c.store, kShuffledStore); });
  for (const TypePair& types : kAllTypes) {
    for (const KernelConfig& config : candidates(make_traits(types, {}), arch_limits("sm_90a"))) {
      std::visit(
          [&]<class Config>(const Config& c) {
            const Config defaults;
            std::vector<int> values;
            c.visit_fields(c, [&](const ConfigField&, auto value) { values.push_back(value); });
            std::size_t next = 0;
            c.visit_fields(defaults, [&](const ConfigField& field, auto value) {
              const int candidates_value = values[next++];
              if (field.kind != FieldKind::rung) return;
              ASSERT_EQ(candidates_value, static_cast<int>(value)) << field.name << " of " << to_string(config);
            });
          },
          config);
    }
  }
}

TEST(KernelConfig, ParseRefusesWhatToStringDoesNotPrint) {
  for (const char* text : {
           "",
           "mma",
           "mma_",
           "wgmma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",
           "wgmma_m128_n256_k64_c2_sn2_pp0_o0_s4_cm1_cn1_b1",  // not a bool
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1",            // a field is missing
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b",          // a number is missing
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_",        // trailing text
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1 ",
           "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_c1",
           " mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",
           "mma_m0128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",  // leading zeros
           "mma_m128_n128_k32_wm2_wn2_s3_x01_f2_e1_b1",
           "mma_m128_n128_k32_wm2_wn2_s3_x2_f2_e1_b1",  // not a bool
           "mma_m128_n128_k32_wm2_wn2_s3_x-1_f2_e1_b1",
           "mma_m-128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",  // signs
           "mma_m+128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",
           "mma_n128_m128_k32_wm2_wn2_s3_x1_f2_e1_b1",          // another order
           "mma_m99999999999_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",  // out of range
           "mma_m4294967424_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",   // 128 modulo 2^32
           "MMA_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1",
           "simt_m64_n64_k16_tm4",
           "simt_m64_n64_k16_tm4_tn4\n",
           "simt_m64_n64_k16_tm4_tn4\"; exit",
       }) {
    EXPECT_EQ(parse_config(text), std::nullopt) << text;
  }
}

TEST(KernelConfig, WhatParsesNeedNotBeLegal) {
  const auto config = parse_config("mma_m100_n128_k32_wm2_wn2_s3_x1_f2_e1_b1");
  ASSERT_TRUE(config);
  EXPECT_FALSE(is_legal(*config, GemmTraits{}, arch_limits("sm_90a")));
}

TEST(KernelConfig, IsLegalRefusesEachThingThatIsWrong) {
  const ArchLimits& arch = arch_limits("sm_90a");
  const GemmTraits traits;
  const auto legal = [&](auto&& change) {
    MmaConfig config;
    change(config);
    return is_legal(config, traits, arch);
  };
  ASSERT_TRUE(legal([](MmaConfig&) {}));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_m = 0; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_m = 48; }));  // not a multiple of two warps' 16 rows
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_n = 48; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_m = 1024; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_k = 16; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_k = 40; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.warps_m = 0; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.warps_n = -1; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.stages = 1; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.stages = 6; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.fragment_buffers = 3; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.store = 3; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.blocks_per_sm = 0; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.async_copy = false; }));  // then nothing would be in flight
  EXPECT_FALSE(legal([](MmaConfig& c) { c.padded = false; }));      // a swizzled tile is not padded
  EXPECT_FALSE(legal([](MmaConfig& c) { c.b_matrices = 3; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_n = 16; }));  // 8 columns per warp need ldmatrix.x2
  EXPECT_TRUE(legal([](MmaConfig& c) { c.block_n = 16, c.b_matrices = 2; }));
  EXPECT_TRUE(legal([](MmaConfig& c) { c.block_k = 16, c.fragment_buffers = 1; }));
  EXPECT_TRUE(legal([](MmaConfig& c) { c.stages = 1, c.fragment_buffers = 1; }));
  EXPECT_TRUE(legal([](MmaConfig& c) { c.stages = 1, c.fragment_buffers = 1, c.async_copy = false; }));
  EXPECT_TRUE(legal([](MmaConfig& c) { c.swizzle = c.padded = false; }));
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_m = c.block_n = 256; }));    // registers
  EXPECT_FALSE(legal([](MmaConfig& c) { c.block_k = 128, c.stages = 5; }));  // shared memory
  EXPECT_FALSE(is_legal(MmaConfig{}, traits, arch_limits("sm_75"))) << "no cp.async";
  EXPECT_FALSE(is_legal(MmaConfig{}, make_traits({DType::f32, DType::f32}, {}), arch));
  EXPECT_FALSE(is_legal(MmaConfig{}, make_traits({DType::bf16, DType::f16}, {}), arch))
      << "there is no such instruction";
  EXPECT_FALSE(is_legal(SimtConfig{}, make_traits({DType::f16, DType::f16}, {}), arch));
  EXPECT_TRUE(is_legal(SimtConfig{}, make_traits({DType::f32, DType::f32}, {}), arch_limits("sm_75")));
  EXPECT_FALSE(is_legal(SimtConfig{.block_m = 60}, traits, arch)) << "the number of threads is not a multiple of 32";
}

TEST(KernelConfig, IsLegalRefusesEachThingThatIsWrongWithWgmma) {
  const ArchLimits& arch = arch_limits("sm_90a");
  const auto legal = [&](auto&& change) {
    WgmmaConfig config;
    change(config);
    return is_legal(KernelConfig(config), GemmTraits{}, arch);
  };
  ASSERT_TRUE(legal([](WgmmaConfig&) {}));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.block_m = 96; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.block_n = 260; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.block_k = 32; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.consumers = 0; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.consumers = 1; }));  // 256 accumulators per thread
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.stages = 5; }));     // shared memory
  EXPECT_TRUE(legal([](WgmmaConfig& c) { c.cluster_m = c.cluster_n = 2; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.cluster_m = 3; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.cluster_m = 4, c.cluster_n = 2; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.ping_pong = c.one_tile = true; }));
  EXPECT_FALSE(legal([](WgmmaConfig& c) { c.blocks_per_sm = 2; }));
  for (const std::string& other : known_archs()) {
    EXPECT_EQ(is_legal(WgmmaConfig{}, GemmTraits{}, arch_limits(other)), other == "sm_90a") << other;
  }
  EXPECT_FALSE(is_legal(WgmmaConfig{}, GemmTraits{.vec_a = 4}, arch)) << "tensor maps need 16 bytes";
  EXPECT_FALSE(is_legal(WgmmaConfig{}, GemmTraits{.vec_b = 4}, arch));
  EXPECT_TRUE(is_legal(WgmmaConfig{}, GemmTraits{.vec_d = 1}, arch));
  const auto loads = [&](auto&& change, int vec_a, int vec_b) {
    WgmmaConfig config{.block_m = 128, .block_n = 64, .loaders = 2};
    change(config);
    return is_legal(config, GemmTraits{.op_b = Op::n, .vec_a = vec_a, .vec_b = vec_b}, arch);
  };
  for (const int vec : {1, 2, 4}) EXPECT_TRUE(loads([](WgmmaConfig&) {}, vec, vec)) << vec;
  EXPECT_TRUE(loads([](WgmmaConfig&) {}, 8, 1) && loads([](WgmmaConfig&) {}, 1, 8));
  EXPECT_FALSE(loads([](WgmmaConfig&) {}, 8, 8)) << "the copy engine can load both";
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.loaders = 3; }, 1, 1));
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.loaders = -1; }, 1, 1));
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.one_tile = true; }, 1, 1)) << "it has no producer";
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.cluster_m = 2; }, 1, 1)) << "threads write to their own block";
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.ping_pong = true; }, 1, 1));
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.split_k = true; }, 1, 1));
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.block_n = 32; }, 1, 1)) << "rows of B of less than 128 bytes";
  EXPECT_TRUE(loads([](WgmmaConfig& c) { c.block_n = 32; }, 1, 8));
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.block_k = 128, c.stages = 2; }, 1, 1)) << "such kernels spill";
  EXPECT_FALSE(loads([](WgmmaConfig& c) { c.block_m = 256; }, 1, 1)) << "registers of a k-tile";
  EXPECT_FALSE(is_legal(WgmmaConfig{}, make_traits({DType::f32, DType::f32}, {}, false, 4), arch));
}

TEST(KernelConfig, IsLegalRefusesEachThingThatIsWrongWithWmma) {
  const ArchLimits& arch = arch_limits("sm_90a");
  const auto legal = [&](auto&& change) {
    WmmaConfig config;
    change(config);
    return is_legal(KernelConfig(config), GemmTraits{}, arch);
  };
  ASSERT_TRUE(legal([](WmmaConfig&) {}));
  EXPECT_TRUE(legal([](WmmaConfig& c) { c.fragment_m = 32; }));
  EXPECT_TRUE(legal([](WmmaConfig& c) { c.fragment_m = 8; }));
  EXPECT_TRUE(legal([](WmmaConfig& c) { c.async_copy = false; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_m = 0; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_m = 96; }));  // not a multiple of four warps' 16 rows
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_n = 48; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_n = 32, c.fragment_m = 8; }));  // two warps' 32 columns
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.fragment_m = 64; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.fragment_m = 0; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_k = 24; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_k = 0; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.warps_m = 0; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.stages = 0; }));
  EXPECT_TRUE(legal([](WmmaConfig& c) { c.stages = 0, c.async_copy = false; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.stages = 0, c.async_copy = false, c.fragment_m = 32; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.stages = -1, c.async_copy = false; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.stages = 6; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.stages = 2, c.async_copy = false; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.blocks_per_sm = 0; }));
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_m = c.block_n = 256; }));    // registers
  EXPECT_FALSE(legal([](WmmaConfig& c) { c.block_k = 128, c.stages = 5; }));  // shared memory
  EXPECT_FALSE(is_legal(WmmaConfig{}, GemmTraits{}, arch_limits("sm_75"))) << "no cp.async";
  EXPECT_TRUE(is_legal(WmmaConfig{}, GemmTraits{}, arch_limits("sm_80")));
  EXPECT_FALSE(is_legal(WmmaConfig{}, make_traits({DType::f32, DType::f32}, {}), arch));
  EXPECT_FALSE(is_legal(WmmaConfig{}, make_traits({DType::bf16, DType::f16}, {}), arch))
      << "there is no such instruction";
  EXPECT_TRUE(is_legal(WmmaConfig{}, make_traits({DType::bf16, DType::f32}, {}, true, 1), arch));
}

TEST(KernelConfig, AccessorsAreTheConfigs) {
  const KernelConfig mma = MmaConfig{.block_m = 64, .block_n = 32, .block_k = 32, .warps_m = 2, .warps_n = 1};
  EXPECT_EQ(block_m(mma), 64);
  EXPECT_EQ(block_n(mma), 32);
  EXPECT_EQ(threads(mma), 64);
  EXPECT_EQ(smem_bytes(mma, GemmTraits{}), 3 * (64 + 32) * 32 * 2);
  EXPECT_EQ(family_of(mma).name, "mma");
  const KernelConfig wmma = WmmaConfig{.block_m = 64, .block_n = 64, .warps_m = 2, .warps_n = 2, .padded = false};
  EXPECT_EQ(threads(wmma), 128);
  EXPECT_EQ(smem_bytes(wmma, GemmTraits{}), 4 * 16 * (32 * 4 + 32)) << "the sums of each warp's fragment rows";
  EXPECT_EQ(family_of(wmma).name, "wmma");
  const KernelConfig simt = SimtConfig{};
  EXPECT_EQ(threads(simt), 256);
  EXPECT_EQ(smem_bytes(simt, GemmTraits{}), 16 * 2 * 65 * 4);
  EXPECT_EQ(family_of(simt).name, "simt");
}

TEST(LaunchConfig, OnlyKernelsThatWaitForTheirPredecessorAreProgrammatic) {
  for (const KernelConfig& config : {KernelConfig(SimtConfig{}), KernelConfig(MmaConfig{})}) {
    EXPECT_TRUE(is_legal(LaunchConfig{8, false}, config));
    EXPECT_FALSE(is_legal(LaunchConfig{8, false, true}, config));
  }
  EXPECT_TRUE(is_legal(LaunchConfig{8, false, true}, WgmmaConfig{}));
}

TEST(LaunchConfig, OnlyKernelsThatDivideKHaveSplits) {
  const LaunchConfig launch{.splits = 4};
  EXPECT_FALSE(is_legal(launch, MmaConfig{}));
  EXPECT_FALSE(is_legal(launch, WgmmaConfig{}));
  EXPECT_TRUE(is_legal(launch, WgmmaConfig{.split_k = true}));
  EXPECT_TRUE(is_legal(LaunchConfig{}, WgmmaConfig{.split_k = true}));
}

TEST(LaunchConfig, RoundTrips) {
  for (int width = 1; width <= 4096; ++width) {
    for (const bool along_n : {false, true}) {
      for (const bool programmatic : {false, true}) {
        const LaunchConfig launch{width, along_n, programmatic};
        ASSERT_EQ(parse_launch(to_string(launch)), launch);
      }
    }
  }
  for (const int splits : {1, 2, 132, 4096}) {
    for (const Repack repack_a : {Repack::none, Repack::aligned, Repack::transposed}) {
      for (const Repack repack_b : {Repack::none, Repack::aligned, Repack::transposed}) {
        const LaunchConfig launch{.repack_a = repack_a, .repack_b = repack_b, .splits = splits};
        ASSERT_EQ(parse_launch(to_string(launch)), launch);
      }
    }
  }
  EXPECT_EQ(to_string(LaunchConfig{8, false}), "r8m");
  EXPECT_EQ(to_string(LaunchConfig{4, true}), "r4n");
  EXPECT_EQ(to_string(LaunchConfig{8, false, true}), "r8mp");
  EXPECT_EQ(to_string(LaunchConfig{.repack_b = Repack::aligned}), "r8m_xb");
  EXPECT_EQ(to_string(LaunchConfig{.repack_a = Repack::transposed, .repack_b = Repack::aligned}), "r8m_xatb");
  const LaunchConfig all{.programmatic = true, .repack_a = Repack::aligned, .repack_b = Repack::aligned, .splits = 4};
  EXPECT_EQ(to_string(all), "r8mp_xab_s4");
}

TEST(LaunchConfig, ParseRefusesWhatToStringDoesNotPrint) {
  for (const char* text : {"",         "r",      "rm",     "r8",        "8m",        "r8x",
                           "r08m",     "r0m",    "r-1m",   "r+1m",      "r4097m",    "r99999999999m",
                           "r8mm",     "r8m ",   " r8m",   "R8m",       "p",         "r8p",
                           "r8pm",     "r8mpp",  "r8mP",   "r8m_x",     "r8m_xba",   "r8m_xta",
                           "r8m_xatt", "r8m_s1", "r8m_s0", "r8m_s4097", "r8m_s4_xa", "r8m_xa_",
                           "r8m_s4p"}) {
    EXPECT_EQ(parse_launch(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace hotgemm
