// Kernels of family wgmma keep their accumulators in registers and their products asynchronous.

#include "nvrtc/compile_fixture.hpp"
#include "nvrtc/machine_code.hpp"

#include "config/families.hpp"
#include "config/traits.hpp"
#include "config/wgmma_instruction.hpp"
#include "plan/wgmma_menu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

/// The fields that determine how registers are divided.
std::array<int, 7> kind_of(const WgmmaConfig& c) {
  return {c.one_tile, c.ping_pong, c.split_n, c.consumers, c.blocks_per_sm, c.transposed, c.loaders};
}

/// The largest kernels take the longest to compile: each run has some of a third of the kinds, and the seeds of a few
/// commits reach all of them.
constexpr SampleShare kShareOfLargest{.usual = 0.05, .changed = 0.15};

class WgmmaCompile : public CompileMatrix {
 protected:
  WgmmaCompile() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    most_ms_ = 2400;
#else
    most_ms_ = 1200;
#endif
  }

  /// The configs with the most accumulators, for every `step`th of the traits.
  std::vector<MatrixCase> cases_of_the_largest(const std::vector<GemmTraits>& all, std::size_t step);
  MatrixCase wgmma_case(const WgmmaConfig& config, const GemmTraits& traits) {
    MatrixCase one = gemm_case(config, traits, "sm_90a", bundle_);
    for (const int field : kind_of(config)) one.kind += std::to_string(field) + " ";
    return one;
  }
};

/// Rotates layouts and types. A dozen turns contain all of them.
GemmTraits traits_in_turn(std::size_t turn, bool reads_c) {
  return make_traits(kTensorTypes[turn % std::size(kTensorTypes)], kLayouts[turn % std::size(kLayouts)], reads_c);
}

/// Traits with rows of A, of B or of both that only threads can load, at each width.
GemmTraits ragged_traits_in_turn(std::size_t turn, bool reads_c) {
  constexpr std::array<std::array<int, 2>, 6> kWidths = {{{1, 1}, {1, 8}, {8, 1}, {2, 1}, {4, 4}, {8, 2}}};
  GemmTraits traits = traits_in_turn(turn, reads_c);
  traits.vec_a = kWidths[turn % kWidths.size()][0];
  traits.vec_b = kWidths[turn % kWidths.size()][1];
  return traits;
}

TEST_F(WgmmaCompile, EveryAnchor) {
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const WgmmaConfig& anchor : wgmma_anchors()) {
    for (std::size_t i = 0; i < std::size(kLayouts); ++i) {
      const bool reads_c = turn / std::size(kLayouts) % 2 == 1;
      const GemmTraits traits =
          anchor.loaders > 0 ? ragged_traits_in_turn(turn, reads_c) : traits_in_turn(turn, reads_c);
      ++turn;
      if (anchor.loaders > 0 && !is_legal(anchor, traits, arch_limits("sm_90a"))) continue;  // too many registers
      if (traits.op_a == Op::t && anchor.transposed && anchor.block_m < 48) continue;  // A's swizzled rows are longer
      // ptxas would serialize the products of these.
      if ((anchor.split_k || anchor.one_tile) && traits.accumulator != DType::f32) continue;
      ASSERT_TRUE(is_legal(anchor, traits, arch_limits("sm_90a"))) << to_string(KernelConfig(anchor));
      cases.push_back(wgmma_case(anchor, traits));
      cases.back().kind = to_string(KernelConfig(anchor));
    }
  }
  compile(cases, kShareOfLargest);  // a third of the anchors in one layout at least
  RecordProperty("median_ms", static_cast<int>(median_ms()));
}

/// The config with the most accumulators of each kind in the menu.
std::vector<WgmmaConfig> largest_of_each_kind(const GemmTraits& traits) {
  std::map<std::array<int, 7>, WgmmaConfig> largest;
  for (const WgmmaConfig& config : wgmma_menu(traits)) {
    WgmmaConfig& most = largest.try_emplace(kind_of(config), config).first->second;
    if (config.accumulator_registers(traits) > most.accumulator_registers(traits)) most = config;
  }
  std::vector<WgmmaConfig> configs;
  for (const auto& [kind, config] : largest) configs.push_back(config);
  return configs;
}

TEST_F(WgmmaCompile, TheMostAccumulatorsOfEachKind) {
  std::vector<MatrixCase> cases;
  for (const Layout& layout : kLayouts) {
    for (const bool reads_c : {false, true}) {
      const GemmTraits traits = make_traits({DType::bf16, DType::f32}, layout, reads_c);
      const std::vector<WgmmaConfig> largest = largest_of_each_kind(traits);
      ASSERT_GE(largest.size(), 10U);
      for (const WgmmaConfig& config : largest) cases.push_back(wgmma_case(config, traits));
    }
  }
  compile(cases, kShareOfLargest);
}

/// Three of the kernels spill 8, 8 and 80 bytes if rows of D begin at 2 bytes. A plan then takes the next choice.
TEST_F(WgmmaCompile, TheMostAccumulatorsWhereLanesStoreD) {
  for (const int vec_d : {1, 2}) {
    std::vector<GemmTraits> all;
    for (std::size_t turn = 0; turn < 2; ++turn) {
      all.push_back(traits_in_turn(turn, false));
      all.back().vec_d = vec_d;
    }
    const std::vector<MatrixCase> cases = cases_of_the_largest(all, 1);
    ASSERT_GE(cases.size(), 20U);
    most_spill_bytes_ = vec_d == 1 ? 80 : 0;
    compile(cases, kShareOfLargest);
  }
}

/// A bias is loaded among the stores. One kernel spills 116 bytes if rows of D begin at 2 bytes; without a bias it
/// spills 80. A plan then takes the next choice.
TEST_F(WgmmaCompile, TheMostAccumulatorsWhereLanesStoreFusedD) {
  const auto fused = [](int vec_d) {
    const Layout& layout = kLayouts[static_cast<std::size_t>(vec_d) % std::size(kLayouts)];
    GemmTraits traits = make_traits({DType::bf16, DType::f32}, layout, false);
    traits.vec_d = vec_d;
    traits.epilogue.bias = Bias::per_column;
    traits.epilogue.activation = vec_d == 1 ? Activation::none : Activation::gelu;
    return traits;
  };
  const int usual = most_spill_bytes({.epilogue = fused(1).epilogue});
  for (const int vec_d : {1, 2, 4}) {
    const std::vector<MatrixCase> cases = cases_of_the_largest({fused(vec_d)}, 1);
    ASSERT_GE(cases.size(), 10U);
    most_spill_bytes_ = vec_d == 1 ? 116 : usual;
    compile(cases, kShareOfLargest);
  }
  // The records of large ragged products name this one, which once spilled 620 bytes.
  const KernelConfig recorded = parse_config("wgmma_m128_n192_k64_c2_sn0_pp1_o0_s4_cm1_cn1_b1").value();
  most_spill_bytes_ = usual;
  compile({wgmma_case(std::get<WgmmaConfig>(recorded), fused(1))}, {.usual = 1, .changed = 1});
}

std::vector<MatrixCase> WgmmaCompile::cases_of_the_largest(const std::vector<GemmTraits>& all, std::size_t step) {
  std::vector<MatrixCase> cases;
  for (std::size_t i = 0; i < all.size(); i += step) {
    for (const WgmmaConfig& config : largest_of_each_kind(all[i])) cases.push_back(wgmma_case(config, all[i]));
  }
  return cases;
}

/// Words in layouts nn and tt, in turns, whose rows lanes load.
std::vector<GemmTraits> loaded_traits() {
  std::vector<GemmTraits> all;
  for (const KernelTypes& types : kWgmmaTypes) {
    if (size_bytes(types.element) == 2) continue;
    const std::size_t turn = all.size();
    const Op op = turn % 2 == 0 ? Op::n : Op::t;
    all.push_back(aligned_traits(types, {op, op}, turn / 2 % 2 == 0));
    all.back().fast_sums = is_fp8(types.element) && turn % 3 != 0;
    if (turn % 5 == 4) all.back().vec_d = max_of(2 / size_bytes(types.element_d), 1);
  }
  return all;
}

/// The mixtures of types of A, B and D, in the layout that all instructions read.
std::vector<GemmTraits> mixed_traits() {
  std::vector<GemmTraits> all;
  for (const KernelTypes& types : kWgmmaTypes) {
    if (!types.is_mixed()) continue;
    for (const bool reads_c : {false, true}) {
      all.push_back(aligned_traits(types, {Op::n, Op::t}, reads_c));
      if (!is_fp8(types.element) || reads_c) continue;
      all.push_back(all.back());
      all.back().fast_sums = true;
    }
  }
  return all;
}

TEST_F(WgmmaCompile, ASpreadOfAnchorsOfEveryMixtureOfTypes) {
  constexpr std::size_t kStep = 11;
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const GemmTraits& traits : mixed_traits()) {
    const std::vector<WgmmaConfig> anchors = wgmma_anchors(traits);
    for (std::size_t i = turn++ % kStep; i < anchors.size(); i += kStep) {
      if (!is_legal(anchors[i], traits, arch_limits("sm_90a"))) continue;
      cases.push_back(wgmma_case(anchors[i], traits));
      cases.back().kind = to_string(traits);
    }
  }
  ASSERT_GE(cases.size(), 200U);
  compile(cases, kShareOfLargest);
}

TEST_F(WgmmaCompile, ASpreadOfAnchorsThatLoadRows) {
  constexpr std::size_t kStep = 13;
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const GemmTraits& traits : loaded_traits()) {
    std::vector<WgmmaConfig> anchors = wgmma_anchors(traits);
    std::erase_if(anchors, [&](const WgmmaConfig& c) { return !is_legal(c, traits, arch_limits("sm_90a")); });
    ASSERT_GE(anchors.size(), kStep) << to_string(traits);
    for (std::size_t i = turn++ % kStep; i < anchors.size(); i += kStep)
      cases.push_back(wgmma_case(anchors[i], traits));
  }
  compile(cases, kShareOfLargest);
}

TEST_F(WgmmaCompile, TheMostAccumulatorsBesideLoadedRows) {
  compile(cases_of_the_largest(loaded_traits(), 5), kShareOfLargest);
}

TEST_F(WgmmaCompile, TheMostAccumulatorsOfMixturesOfTypes) {
  compile(cases_of_the_largest(mixed_traits(), 3), kShareOfLargest);
}

/// A thread has 128 registers if two blocks of an SM divide k. Kernels of some widths then spill up to 44 bytes where
/// they add the parts. A plan takes the next choice.
TEST_F(WgmmaCompile, ASpreadOfTheMenu) {
  constexpr std::size_t kStep = 397;  // coprime to the lengths of the menu's loops
  std::vector<MatrixCase> cases, spilling;
  for (std::size_t turn = 0; turn < 12; ++turn) {
    const GemmTraits traits = traits_in_turn(turn, turn % 5 == 0);
    const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
    for (std::size_t i = turn * 31 % kStep; i < menu.size(); i += kStep) {
      const bool may_spill = menu[i].split_k && menu[i].blocks_per_sm == 2;
      (may_spill ? spilling : cases).push_back(wgmma_case(menu[i], traits));
    }
  }
  ASSERT_GE(cases.size(), 36U);
  compile(cases);
  ASSERT_FALSE(spilling.empty());
  most_spill_bytes_ = 44;
  compile(spilling);
}

TEST_F(WgmmaCompile, TheMostRegistersOfThreadsThatLoad) {
  std::vector<MatrixCase> cases;
  for (std::size_t turn = 0; turn < 24; ++turn) {
    const GemmTraits traits = ragged_traits_in_turn(turn, turn % 5 == 0);
    std::map<std::array<int, 7>, WgmmaConfig> fullest;
    const auto registers = [&](const WgmmaConfig& c) {
      return c.loader_registers(traits) * 1000 + c.accumulator_registers(traits);
    };
    for (const WgmmaConfig& config : wgmma_menu(traits)) {
      WgmmaConfig& most = fullest.try_emplace(kind_of(config), config).first->second;
      if (registers(config) > registers(most)) most = config;
    }
    ASSERT_GE(fullest.size(), 6U);
    for (const auto& [kind, config] : fullest) cases.push_back(wgmma_case(config, traits));
  }
  compile(cases, kShareOfLargest);
}

/// A load from global memory there would make the next products wait for it.
TEST_F(WgmmaCompile, ScalesOfBlocksComeFromSharedMemoryAlone) {
  const Workload problem = parse_workload("4096 7168 2048 nt e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128");
  for (const WgmmaConfig& config :
       {WgmmaConfig{.block_m = 256, .block_n = 128, .block_k = 128, .promote = true},
        WgmmaConfig{.block_m = 128, .block_n = 192, .block_k = 128, .promote = true}}) {  // two blocks of columns
    SCOPED_TRACE(to_string(KernelConfig(config)));
    const MatrixCase one = wgmma_case(config, traits_of(problem));
    const BuildResult built = builder_->build(one.source);
    ASSERT_TRUE(built.cubin) << built.failure;
    std::vector<MachineCode> loops = MachineCode::of(built.cubin->image).loops();
    std::erase_if(loops, [&](const MachineCode& loop) {
      return loop.count(Opcode::ffma) != config.consumer_m() * config.consumer_n() / kWarpgroupThreads;
    });
    ASSERT_FALSE(loops.empty());
    const MachineCode& of_k = *std::ranges::min_element(
        loops, {}, [](const MachineCode& loop) { return loop.instructions().size(); });  // the others contain it
    EXPECT_EQ(of_k.count(Opcode::lds), 4);
    EXPECT_EQ(of_k.count(Opcode::ldg) + of_k.count(Opcode::ldl), 0);
  }
}

TEST_F(WgmmaCompile, ProductsThatAreSerializedAreReported) {
  KernelSource source = render(WgmmaConfig{}, GemmTraits{}, "sm_90a", bundle_);
  source.text =
      "#include \"ptx/wgmma.hpp\"\n#include \"ptx/memory.hpp\"\n" +
      wgmma_text({.n = 8, .element = DType::f16, .accumulator = DType::f32, .a_is_k_major = true, .b_is_k_major = true},
                 "Instruction") +
      "extern \"C\" __global__ void " + source.symbol + R"((const __grid_constant__ hotgemm::u64 out) {
  float d[4] = {};
#pragma unroll 1
  for (int i = 0; i < 8; ++i) {
    hotgemm::ptx::wgmma_fence();
    Instruction::mma_async(d, out, out, i > 0);
    hotgemm::ptx::wgmma_commit_group();
    hotgemm::ptx::wgmma_wait_group<1>();
    d[0] += 1;  // the product in flight will write it
  }
  hotgemm::ptx::wgmma_wait_group<0>();
  hotgemm::ptx::st_global_b32(out, __float_as_uint(d[0]));
}
)";
  std::string log;
  Nvrtc::get().compile(source, bundle_, &log);
  EXPECT_NE(log.find(kLostSpeed), std::string::npos) << log;
}

}  // namespace
}  // namespace hotgemm
