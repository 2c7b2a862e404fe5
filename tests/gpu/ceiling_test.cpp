// The kernels that measure the rate of the tensor cores compute the products that they count.

#include "context_impl.hpp"
#include "gpu/gpu_fixture.hpp"

#include "gpu/device_buffer.hpp"
#include "gpu/loaded_kernel.hpp"
#include "shared/ceiling_args.hpp"
#include "unit/plan_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace hotgemm {
namespace {

constexpr CeilingInstruction kInstructions[] = {CeilingInstruction::mma, CeilingInstruction::wgmma};

class CeilingOnGpu : public GpuTest {
 protected:
  bool has(CeilingInstruction instruction) const {
    const ArchLimits& limits = arch_limits(gpu().arch());
    return instruction == CeilingInstruction::wgmma ? limits.has_wgmma : limits.has_cp_async;
  }
  LoadedKernel load(const CeilingKind& kind) const {
    Engine& engine = impl_of(gpu().context()).engine();
    return {driver(), *engine.builder.build(render_ceiling(kind, gpu().arch(), engine.bundle)).cubin,
            ceiling_shared_bytes(kind.instruction)};
  }
  void launch(const LoadedKernel& kernel, const DeviceBuffer& results, int blocks, int iterations) const {
    CeilingArgs args{.results = results.get(), .iterations = iterations, .seed = 3};
    void* parameters[] = {&args};
    driver().check(
        driver().cuLaunchKernel(kernel.function(), static_cast<unsigned>(blocks), 1, 1, kCeilingThreads, 1, 1,
                                static_cast<unsigned>(kernel.smem_bytes()), stream(), parameters, nullptr),
        "launch a ceiling kernel");
    driver().check(driver().cuStreamSynchronize(stream()), "run a ceiling kernel");
  }
  /// The mean of the absolute sums that the threads store.
  double mean_sum(const LoadedKernel& kernel, int iterations) const {
    constexpr int kBlocks = 3;
    std::vector<float> sums(static_cast<std::size_t>(ceiling_result_bytes(kBlocks)) / sizeof(float));
    const DeviceBuffer results(driver(), sums.size() * sizeof(float));
    launch(kernel, results, kBlocks, iterations);
    driver().check(driver().cuMemcpyDtoH(sums.data(), results.get(), results.bytes()), "download sums");
    double total = 0;
    for (const float sum : sums) total += std::abs(sum);
    return total / static_cast<double>(sums.size());
  }
  double tflops(const CeilingKind& kind) const {
    const LoadedKernel kernel = load(kind);
    const int blocks = gpu().state().info().sm_count, iterations = ceiling_iterations(kind.instruction);
    const DeviceBuffer results(driver(), static_cast<std::size_t>(ceiling_result_bytes(blocks)));
    double best_s = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      launch(kernel, results, blocks, iterations);
      best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return ceiling_flops(kind.instruction, kind.element, blocks, iterations) / best_s * 1e-12;
  }
};

TEST_F(CeilingOnGpu, EverySecondIterationTakesAwayWhatTheFirstHasAdded) {
  for (const CeilingInstruction instruction : kInstructions) {
    if (!has(instruction)) continue;
    for (const CeilingKind& kind : ceiling_kinds(instruction)) {
      SCOPED_TRACE(render_ceiling(kind, gpu().arch(), TemplateBundle::embedded()).symbol);
      const LoadedKernel kernel = load(kind);
      const double once = mean_sum(kernel, 1);
      EXPECT_TRUE(std::isfinite(once) && once > 1) << once;
      EXPECT_LT(mean_sum(kernel, 2), 0.05 * once);
      EXPECT_NEAR(mean_sum(kernel, 101), once, 0.3 * once);
    }
  }
}

TEST_F(CeilingOnGpu, WgmmaIsFaster) {
  if (!has(CeilingInstruction::wgmma)) GTEST_SKIP() << "this GPU has no wgmma";
  if (small_run()) GTEST_SKIP() << "nothing is fast here";
  const double mma = tflops({.instruction = CeilingInstruction::mma});
  const double wgmma = tflops({.instruction = CeilingInstruction::wgmma});
  std::printf("mma.sync %.0f TFLOP/s, wgmma %.0f TFLOP/s, launch and answer included\n", mma, wgmma);
  EXPECT_GT(wgmma, 1.1 * mma);
}

}  // namespace
}  // namespace hotgemm
