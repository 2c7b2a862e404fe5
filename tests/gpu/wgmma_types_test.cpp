// The `wgmma` family with types of its operands that differ, or that have 8 bits.

#include "config/typed_config.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/wgmma_kernel.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

// clang-format off
/// Configs of each schedule and epilogue, for elements of 16 bits.
constexpr WgmmaConfig kMixedConfigs[] = {
    {.block_m = 128, .block_n = 192, .stages = 4, .cluster_m = 2},
    {.block_m = 256, .block_n = 128, .stages = 3},
    {.block_m = 128, .block_n = 96,  .ping_pong = true, .stages = 4},
    {.block_m = 64,  .block_n = 64,  .consumers = 1, .one_tile = true, .stages = 3, .blocks_per_sm = 2},
    {.block_m = 64,  .block_n = 32,  .block_k = 128, .consumers = 1, .one_tile = true, .stages = 3, .cluster_n = 2},
    {.block_m = 16,  .block_n = 64,  .block_k = 128, .consumers = 1, .stages = 4, .transposed = true},
    {.block_m = 80,  .block_n = 128, .split_n = true, .stages = 4, .transposed = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 128, .consumers = 1, .one_tile = true, .stages = 4, .split_k = true},
};
/// Configs whose lanes load the rows of A, or transposed those of B, if these are words that lie along m or n.
constexpr WgmmaConfig kLoadedConfigs[] = {
    {.block_m = 128, .block_n = 192, .stages = 4, .cluster_m = 2},
    {.block_m = 256, .block_n = 96,  .stages = 3},
    {.block_m = 128, .block_n = 96,  .ping_pong = true, .stages = 4},
    {.block_m = 128, .block_n = 64,  .stages = 4},
    {.block_m = 64,  .block_n = 48,  .consumers = 1, .stages = 6},
    {.block_m = 64,  .block_n = 32,  .block_k = 128, .consumers = 1, .stages = 3, .cluster_n = 2},
    {.block_m = 64,  .block_n = 64,  .consumers = 1, .stages = 4, .split_k = true},
    {.block_m = 48,  .block_n = 64,  .consumers = 1, .stages = 4, .transposed = true},
    {.block_m = 16,  .block_n = 64,  .block_k = 128, .consumers = 1, .stages = 4, .transposed = true},
    {.block_m = 64,  .block_n = 128, .split_n = true, .stages = 4, .transposed = true},
    {.block_m = 80,  .block_n = 256, .split_n = true, .stages = 4, .transposed = true},
    {.block_m = 192, .block_n = 128, .split_n = true, .stages = 3, .cluster_n = 2, .transposed = true},
    {.block_m = 96,  .block_n = 128, .ping_pong = true, .stages = 4, .transposed = true},
    {.block_m = 64,  .block_n = 192, .consumers = 3, .split_n = true, .stages = 3, .transposed = true},
};
// clang-format on

constexpr GemmTraits traits_of(const KernelTypes& types, Op op_a, Op op_b, bool reads_c, bool fast_sums, int d_bytes) {
  return {.element = types.element,
          .accumulator = types.accumulator,
          .element_b = types.element_b,
          .element_d = types.element_d,
          .op_a = op_a,
          .op_b = op_b,
          .reads_c = reads_c,
          .vec_a = 16 / size_bytes(types.element),
          .vec_b = 16 / size_bytes(types.element_b),
          .vec_d = d_bytes / size_bytes(types.element_d),
          .fast_sums = fast_sums};
}

constexpr bool lanes_load_rows(const GemmTraits& t) {
  return size_bytes(t.element) != 2 && !(t.a_is_k_major() && t.b_is_k_major());
}
constexpr std::span<const WgmmaConfig> candidates(const GemmTraits& t) {
  if (lanes_load_rows(t)) return kLoadedConfigs;
  return kMixedConfigs;
}
/// True if the candidate `config`, with the k-tile and the sums of the traits' types, is legal for them. Not legal are
/// the largest with C and promotion, large ones that read C of integers, and with sums in s32 one-tile blocks and a
/// divided k.
constexpr bool is_tried(const WgmmaConfig& config, const GemmTraits& t) {
  return is_legal(typed(config, t), t, *find_arch_limits(90));
}

/// True if `legal` configs are enough to try: three if lanes load rows, else five.
constexpr bool are_enough(std::ptrdiff_t legal, const GemmTraits& t) { return legal >= (lanes_load_rows(t) ? 3 : 5); }

/// True if each mixture of types has enough configs in most of the ways in which the tests combine them.
constexpr bool every_mixture_has_configs() {
  for (const KernelTypes& types : kWgmmaTypes) {
    for (const auto& [op_a, op_b] : {std::pair(Op::n, Op::t), std::pair(Op::n, Op::n), std::pair(Op::t, Op::t)}) {
      for (int choice = 0; choice < 4; ++choice) {
        const bool reads_c = choice % 2 == 1, fast_sums = choice / 2 == 1;
        if (fast_sums && !is_fp8(types.element)) continue;
        for (const int d_bytes : {16, 4}) {
          const GemmTraits t = traits_of(types, op_a, op_b, reads_c, fast_sums, d_bytes);
          const auto legal = std::ranges::count_if(candidates(t), [&](const WgmmaConfig& c) { return is_tried(c, t); });
          if (!are_enough(legal, t)) return false;
        }
      }
    }
  }
  return true;
}
static_assert(every_mixture_has_configs());

std::vector<WgmmaConfig> configs_for(const GemmTraits& traits) {
  std::vector<WgmmaConfig> configs;
  for (const WgmmaConfig& config : candidates(traits))
    if (is_tried(config, traits)) configs.push_back(typed(config, traits));
  EXPECT_TRUE(are_enough(std::ssize(configs), traits)) << to_string(traits);
  return configs;
}

class WgmmaTypesOnGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && gpu().arch() != "sm_90a") GTEST_SKIP() << "needs sm_90a, not " << gpu().arch();
  }

  void expect_right(const WgmmaKernel& kernel, const GemmCase& c, double& worst) {
    SCOPED_TRACE(kernel.cubin().symbol + " " + c.text());
    const Problem& p = c.problem;
    CaseRun run(driver(), c, stream());
    const auto launch = [&](const Operands& o) { kernel.launch(p.m, p.n, p.k, o, {2, false, false}, 4, stream()); };
    run.fill(CaseRun::Data::integers, 7);
    run.run(launch);
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
    run.fill(CaseRun::Data::normal, 8);
    run.run(launch);
    EXPECT_LE(run.worst_error(), 1.0);
    EXPECT_EQ(run.stray_write(), "");
    worst = std::max(worst, run.worst_error());
  }

  /// All configs on ragged shapes, with rows of D at 16, 8 and 4 bytes.
  void expect_right(const KernelTypes& types, Op op_a, Op op_b, bool reads_c, bool fast_sums, int d_bytes) {
    constexpr std::int64_t kShapes[][3] = {{1, 8, 16}, {64, 64, 128}, {129, 257, 80}, {300, 500, 400}, {65, 72, 1040}};
    const GemmTraits traits = traits_of(types, op_a, op_b, reads_c, fast_sums, d_bytes);
    double worst = 0;
    for (const WgmmaKernel& kernel : build_wgmma_kernels(driver(), configs_for(traits), traits,
                                                         [](const std::string& text) { ADD_FAILURE() << text; })) {
      EXPECT_EQ(kernel.cubin().spill_bytes, 0) << kernel.cubin().symbol;
      for (const auto& [m, n, k] : kShapes) {
        GemmCase c{.problem = {.m = m, .n = n, .k = k, .op_a = op_a, .op_b = op_b, .types = types_of(traits)},
                   .alpha = -2,
                   .beta = reads_c ? 3.f : 0.f,
                   .in_place = reads_c && m != 64};
        c.set_tight_ld(16);
        c.ldc = c.ldd = (n + traits.vec_d - 1) / traits.vec_d * traits.vec_d;
        expect_right(kernel, c, worst);
      }
    }
    std::printf("%s: worst error %.3f of the gate\n", to_string(traits).c_str(), worst);
  }

  /// The mixtures whose A has a type that `is_asked` accepts, in layout nt. WgmmaOnGpu has those of one type.
  void expect_mixtures_right(bool (*is_asked)(DType a)) {
    int turn = 0;
    for (const KernelTypes& types : kWgmmaTypes) {
      if (!types.is_mixed() || !is_asked(types.element)) continue;
      const int d_bytes = std::max(16 >> turn % 3, size_bytes(types.element_d));
      expect_right(types, Op::n, Op::t, turn % 2 == 1, false, d_bytes);
      if (is_fp8(types.element)) expect_right(types, Op::n, Op::t, turn % 4 == 1, true, 16);
      ++turn;
    }
  }

  /// In layout nn lanes load rows of B, in tt those of A. Every `step`th mixture with `element` is tried.
  void expect_loaded_rows_right(DType element, int step = 1) {
    int turn = 0, number = 0;
    for (const KernelTypes& types : kWgmmaTypes) {
      if (types.element != element || number++ % step != 0) continue;
      const int d_bytes = std::max(16 >> turn % 3, size_bytes(types.element_d));
      expect_right(types, Op::n, Op::n, turn % 2 == 1, false, d_bytes);
      expect_right(types, Op::t, Op::t, turn % 2 == 0, is_fp8(element) && turn % 4 < 2, d_bytes);
      ++turn;
    }
  }
};

TEST_F(WgmmaTypesOnGpu, MixturesOf16BitsAreRight) {
  expect_mixtures_right([](DType a) { return size_bytes(a) == 2; });
}
TEST_F(WgmmaTypesOnGpu, MixturesOfTf32AndIntegersAreRight) {
  expect_mixtures_right([](DType a) { return size_bytes(a) != 2 && !is_fp8(a); });
}
TEST_F(WgmmaTypesOnGpu, MixturesOfE4m3AreRight) {
  expect_mixtures_right([](DType a) { return a == DType::e4m3; });
}
TEST_F(WgmmaTypesOnGpu, MixturesOfE5m2AreRight) {
  expect_mixtures_right([](DType a) { return a == DType::e5m2; });
}

TEST_F(WgmmaTypesOnGpu, LoadedRowsOfTf32AreRight) { expect_loaded_rows_right(DType::tf32); }
TEST_F(WgmmaTypesOnGpu, LoadedRowsOfIntegersAreRight) { expect_loaded_rows_right(DType::s8); }
TEST_F(WgmmaTypesOnGpu, LoadedRowsOfFp8AreRight) {
  expect_loaded_rows_right(DType::e4m3, 3);
  expect_loaded_rows_right(DType::e5m2, 4);
}

TEST_F(WgmmaTypesOnGpu, AWideDIsRightInEveryLayout) {
  for (const Op op_a : {Op::n, Op::t}) {
    for (const Op op_b : {Op::n, Op::t}) {
      for (const KernelTypes& types : kWideResultTypes) expect_right(types, op_a, op_b, op_a == op_b, false, 16);
    }
  }
}

}  // namespace
}  // namespace hotgemm
