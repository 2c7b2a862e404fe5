#pragma once

#include "config/render.hpp"
#include "config/workspace.hpp"
#include "gpu/gemm_launch.hpp"
#include "gpu/nvrtc.hpp"
#include "runtime/plan_impl.hpp"
#include "runtime/workspace_pool.hpp"

#include <hotgemm/types.hpp>

#include <memory>
#include <string>
#include <utility>

namespace hotgemm {

/// A kernel that needs workspace: four blocks share each tile of D. Each block writes a part of the sum to the scratch,
/// waits a little, and increments the counter of the tile. The last block adds the parts and sets the counter to zero.
/// The result is wrong if another kernel uses the same scratch at the same time, because it changes the parts, or the
/// same counters, because then the wait ends too early.
///
/// It computes D = alpha * A * B in f16, row-major, without transposes.
class SplitKernel {
 public:
  static constexpr int kTile = 16, kSplits = 4, kThreads = kTile * kTile;
  static constexpr const char* kSymbol = "hotgemm_testsplit_m16_n16_s4_f16_f32_nn_a1b1d1_c0";
  static constexpr const char* kText = R"(
#include "shared/gemm_args.hpp"
#include "shared/workspace_args.hpp"
namespace {
float widen(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
unsigned short narrow(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
}  // namespace
extern "C" __global__ void __launch_bounds__(256) hotgemm_testsplit_m16_n16_s4_f16_f32_nn_a1b1d1_c0(
    const __grid_constant__ hotgemm::GemmArgs args, const __grid_constant__ hotgemm::WorkspaceArgs workspace) {
  const int thread = threadIdx.x, tile = blockIdx.x / 4, split = blockIdx.x % 4;
  const int columns = (args.n + 15) / 16;
  const long long row = tile / columns * 16 + thread / 16, col = tile % columns * 16 + thread % 16;
  const bool is_inside = row < args.m && col < args.n;
  const int depth = (args.k + 3) / 4, first = split * depth;
  const int last = first + depth < args.k ? first + depth : args.k;
  const auto* a = reinterpret_cast<const unsigned short*>(args.a);
  const auto* b = reinterpret_cast<const unsigned short*>(args.b);
  float sum = 0;
  for (int l = first; is_inside && l < last; ++l) sum += widen(a[row * args.lda + l]) * widen(b[l * args.ldb + col]);
  volatile float* parts = reinterpret_cast<float*>(workspace.scratch) + tile * 1024ll;
  auto* counter = reinterpret_cast<unsigned*>(workspace.counters) + tile;
  parts[split * 256 + thread] = sum;
  __threadfence();
  for (int i = 0; i < 20; ++i) __nanosleep(1000);
  __shared__ bool is_last;
  __syncthreads();
  if (thread == 0) is_last = atomicAdd(counter, 1u) == 3;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  float total = 0;
  for (int i = 0; i < 4; ++i) total += parts[i * 256 + thread];
  if (is_inside) reinterpret_cast<unsigned short*>(args.d)[row * args.ldd + col] = narrow(args.alpha * total);
  if (thread == 0) *counter = 0;
}
)";

  static Cubin compile(const std::string& arch, const TemplateBundle& bundle) {
    KernelSource source = render_check(arch, bundle);  // for its options
    source.symbol = kSymbol;
    source.text = kText;
    return Nvrtc::get().compile(source, bundle);
  }

  /// The workspace for problems of at most m×n.
  static WorkspaceSize size(std::int64_t m, std::int64_t n) {
    const auto tiles = static_cast<std::size_t>(((m - 1) / kTile + 1) * ((n - 1) / kTile + 1));
    return {.scratch_bytes = tiles * kSplits * kThreads * sizeof(float), .counters = tiles};
  }

  /// Loads the kernel into the current context.
  static std::shared_ptr<const GemmKernel> load(const Driver& driver, const Cubin& cubin) {
    const LaunchShape shape{.tile_m = kTile,
                            .tile_n = kTile,
                            .cluster = kSplits,  // so that each tile gets kSplits blocks
                            .threads = kThreads,
                            .smem_bytes = 0,
                            .blocks_per_sm = 0};
    return std::make_shared<const GemmKernel>(
        GemmKernel{.kernel = LoadedKernel(driver, cubin, 0), .shape = shape, .maps = std::nullopt, .sm_count = 1});
  }

  /// A plan that launches `kernel`, or `without` if `pool` has no memory. Its config is that of another kernel.
  static PlanImpl plan(const Driver& driver, std::shared_ptr<const GemmKernel> kernel, const Problem& problem,
                       WorkspacePool& pool, WorkspaceBudget& budget,
                       std::shared_ptr<const PlanImpl> without = nullptr) {
    unsigned long long context_id = 0;
    driver.check(driver.cuCtxGetId(nullptr, &context_id), "find the current CUDA context");
    return {driver, context_id, Choice{.config = SimtConfig{}}, std::move(kernel),
            PlanWorkspace{
                .size = size(problem.m, problem.n), .pool = &pool, .budget = &budget, .without = std::move(without)}};
  }
};

}  // namespace hotgemm
