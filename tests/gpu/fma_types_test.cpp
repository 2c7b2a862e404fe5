// The `fma` family with words of four s8, and the configs of its menu with slices and quads.

#include "gpu/gpu_fixture.hpp"
#include "plan/fma_menu.hpp"

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

namespace hotgemm {
namespace {

// clang-format off
/// One stage, the double buffer and the ring of cp.async; packed and not; accesses of one word and of four; no shared memory.
constexpr FmaConfig kDp4aConfigs[] = {
    {.block_m = 256, .block_n = 128, .block_k = 128, .thread_m = 16, .thread_n = 8,  .stages = 1, .access = 16, .packed = false},
    {.block_m = 128, .block_n = 128, .block_k = 64,  .thread_m = 8,  .thread_n = 8,  .stages = 2, .access = 4},
    {.block_m = 128, .block_n = 256, .block_k = 64,  .thread_m = 8,  .thread_n = 16, .stages = 3, .access = 4,  .async_copy = true},
    {.block_m = 96,  .block_n = 32,  .block_k = 56,  .thread_m = 6,  .thread_n = 4,  .stages = 2, .access = 4,  .packed = false},
    {.block_m = 32,  .block_n = 32,  .block_k = 64,  .thread_m = 1,  .thread_n = 1,  .stages = 1, .access = 16, .packed = false, .padded = false},
    {.block_m = 32,  .block_n = 32,  .block_k = 8,   .thread_m = 1,  .thread_n = 1,  .stages = 0, .access = 1,  .packed = false, .padded = false},
};
// clang-format on

class FmaTypesOnGpu : public GpuTest {
 protected:
  /// All configs on ragged shapes whose rows begin at multiples of `row_bytes`.
  void expect_exact(DType element_d, bool reads_c, int row_bytes) {
    constexpr std::array<std::int64_t, 3> kShapes[] = {{1, 8, 16}, {64, 64, 128}, {129, 257, 83}, {300, 500, 402}};
    std::vector<Gpu::KernelRequest> requests;
    std::vector<GemmCase> cases;
    for (const FmaConfig& config : kDp4aConfigs) {
      for (const auto& [m, n, k] : kShapes) {
        const Types types =
            types_of(GemmTraits{.element = DType::s8, .accumulator = DType::s32, .element_d = element_d});
        GemmCase c{.problem = {.m = m, .n = n, .k = k, .op_b = Op::t, .types = types},
                   .alpha = -2,
                   .beta = reads_c ? 3.f : 0.f,
                   .in_place = reads_c && m != 64};
        c.set_tight_ld(row_bytes);
        if (!is_legal(config, traits_of(c.described()), arch_limits(gpu().arch()))) continue;
        requests.push_back({config, traits_of(c.described())});
        cases.push_back(c);
      }
    }
    ASSERT_GE(cases.size(), row_bytes >= 4 ? 12U : 4U);
    expect_exact(requests, cases);
  }

  /// All configs of the menu for f32 that have slices or quads, with few rows, few columns and ragged ends of k. A
  /// small run has each config once.
  void expect_exact_f32(Op op_a, Op op_b, bool reads_c, int row_bytes) {
    constexpr std::array<std::int64_t, 3> kShapes[] = {{1, 100, 513}, {130, 1, 77}, {7, 66, 1000}, {70, 33, 256}};
    std::vector<Gpu::KernelRequest> requests;
    std::vector<GemmCase> cases;
    for (std::size_t shape = 0; shape < std::size(kShapes); ++shape) {
      const auto& [m, n, k] = kShapes[shape];
      GemmCase c{.problem = {.m = m, .n = n, .k = k, .op_a = op_a, .op_b = op_b, .types = uniform_types(DType::f32)},
                 .alpha = -2,
                 .beta = reads_c ? 3.f : 0.f,
                 .in_place = reads_c};
      c.set_tight_ld(row_bytes);
      const GemmTraits traits = traits_of(c.described());
      std::size_t turn = shape;
      for (const FmaConfig& config : fma_menu(traits)) {
        if ((config.slices == 1 && !config.quads) || !is_legal(config, traits, arch_limits(gpu().arch()))) continue;
        if (small_run() && ++turn % std::size(kShapes) != 0) continue;
        requests.push_back({config, traits});
        cases.push_back(c);
      }
    }
    if (requests.empty()) return;  // without cp.async
    expect_exact(requests, cases);
  }

 private:
  void expect_exact(const std::vector<Gpu::KernelRequest>& requests, const std::vector<GemmCase>& cases) {
    const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(to_string(requests[i].config) + " " + cases[i].text());
      CaseRun run(driver(), cases[i], stream());
      const CaseRun::Launch launch = launcher(kernels[i], {}, cases[i].problem);
      run.fill(CaseRun::Data::integers, 7);
      run.run(launch);
      EXPECT_EQ(run.inexact(), "");
      EXPECT_EQ(run.stray_write(), "");
      run.fill(CaseRun::Data::normal, 8);
      run.run(launch);
      EXPECT_LE(run.worst_error(), 1.0);
    }
  }
};

TEST_F(FmaTypesOnGpu, WordsOfS8AreExact) {
  expect_exact(DType::s32, false, 16);
  expect_exact(DType::s32, true, 4);
  expect_exact(DType::s32, true, 1);
  if (small_run()) return;
  expect_exact(DType::f32, true, 16);
  expect_exact(DType::bf16, false, 8);
}

TEST_F(FmaTypesOnGpu, SlicesAndQuadsAreExact) {
  expect_exact_f32(Op::n, Op::t, true, 16);
  expect_exact_f32(Op::n, Op::t, false, 4);
  if (small_run()) return;
  expect_exact_f32(Op::n, Op::t, true, 8);
  expect_exact_f32(Op::n, Op::n, true, 16);
  expect_exact_f32(Op::t, Op::n, false, 8);
  expect_exact_f32(Op::t, Op::t, true, 4);
}

}  // namespace
}  // namespace hotgemm
