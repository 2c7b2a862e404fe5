// The `mma` family with elements of 8 and 32 bits.

#include "gpu/gpu_fixture.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace hotgemm {
namespace {

// clang-format off
/// Configs for elements of 16 bits: both numbers of fragment buffers, both ways against bank conflicts, one stage.
constexpr MmaConfig kWordConfigs[] = {
    {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4, .fragment_buffers = 2, .store = kDirectStore},
    {.block_m = 64,  .block_n = 64,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore},
    {.block_m = 32,  .block_n = 48,  .block_k = 48, .warps_m = 1, .warps_n = 3, .stages = 5, .fragment_buffers = 2, .store = kDirectStore},
    {.block_m = 16,  .block_n = 64,  .block_k = 64, .warps_m = 1, .warps_n = 4, .stages = 1, .fragment_buffers = 1, .store = kDirectStore, .b_matrices = 2, .serpentine = false},
};
// clang-format on

class MmaTypesOnGpu : public GpuTest {
 protected:
  /// All configs on ragged shapes, with rows at 16, 8 and 4 bytes. The layouts take turns.
  void expect_right(const KernelTypes& types, bool reads_c, int bytes, bool fast_sums) {
    constexpr std::int64_t kShapes[][3] = {{1, 8, 16}, {64, 64, 128}, {129, 257, 84}, {300, 500, 404}, {65, 72, 1040}};
    std::vector<Gpu::KernelRequest> requests;
    std::vector<GemmCase> cases;
    int turn = 0;  // of layouts
    for (MmaConfig config : kWordConfigs) {
      config.block_k = typed_block_k(config.block_k, types.element);
      for (const auto& [m, n, k] : kShapes) {
        GemmTraits traits{.element = types.element,
                          .accumulator = types.accumulator,
                          .element_b = types.element_b,
                          .element_d = types.element_d,
                          .fast_sums = fast_sums};
        const Op op_a = turn / 2 % 2 == 0 ? Op::n : Op::t, op_b = turn % 2 == 0 ? Op::t : Op::n;
        ++turn;
        GemmCase c{.problem = {.m = m, .n = n, .k = k, .op_a = op_a, .op_b = op_b, .types = types_of(traits)},
                   .alpha = -2,
                   .beta = reads_c ? 3.f : 0.f,
                   .in_place = reads_c && m != 64};
        c.set_tight_ld(bytes / size_bytes(types.element));
        if (!is_legal(config, traits_of(c.described()), arch_limits(gpu().arch()))) continue;
        requests.push_back({config, traits_of(c.described())});
        cases.push_back(c);
      }
    }
    EXPECT_GE(cases.size(), 12U);
    const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
    double worst = 0;
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
      worst = std::max(worst, run.worst_error());
    }
    std::printf("%s %s %s: worst error %.3f of the gate\n", std::string(to_string(types.element)).c_str(),
                std::string(to_string(types.element_b)).c_str(), std::string(to_string(types.element_d)).c_str(),
                worst);
  }
};

TEST_F(MmaTypesOnGpu, AreRightInEveryMixture) {
  int turn = 0;
  for (const KernelTypes& types : kMmaTypes) {
    if (!reads_k_major_only(types.element)) continue;
    const ArchLimits& arch = arch_limits(gpu().arch());
    const bool runs = !small_run() || turn % 4 == 0;
    for (const bool fast_sums : {false, true}) {
      const bool is_there =
          is_fp8(types.element) ? arch.sm >= 89 && (fast_sums || unpacks_fp8(arch)) : arch.has_cp_async && !fast_sums;
      if (runs && is_there) expect_right(types, turn % 2 == 1, 16 >> turn % 3, fast_sums);
    }
    ++turn;
  }
}

}  // namespace
}  // namespace hotgemm
