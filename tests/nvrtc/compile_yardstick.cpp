#include "nvrtc/compile_yardstick.hpp"

#include "config/template_bundle.hpp"
#include "gpu/nvrtc.hpp"

#include <algorithm>

namespace hotgemm {
namespace {

/// A product of tiles in registers. It uses no template of the project, so that no change of these changes its time.
constexpr const char* kProgram = R"(
template <int rows, int columns>
struct Tile {
  float values[rows * columns];
  __device__ void add(const float (&a)[rows], const float (&b)[columns]) {
#pragma unroll
    for (int i = 0; i < rows * columns; ++i) values[i] += a[i / columns] * b[i % columns];
  }
};

template <int rows, int columns, int depth>
__device__ void multiply(const float* a, const float* b, float* d, int k) {
  __shared__ float shared_a[depth * rows * 16], shared_b[depth * columns * 16];
  Tile<rows, columns> tile = {};
  for (int at = 0; at < k; at += depth) {
    for (int i = threadIdx.x; i < depth * rows * 16; i += blockDim.x) shared_a[i] = a[at * rows * 16 + i];
    for (int i = threadIdx.x; i < depth * columns * 16; i += blockDim.x) shared_b[i] = b[at * columns * 16 + i];
    __syncthreads();
#pragma unroll
    for (int step = 0; step < depth; ++step) {
      float row[rows], column[columns];
#pragma unroll
      for (int i = 0; i < rows; ++i) row[i] = shared_a[(step * rows + i) * 16 + threadIdx.x / 16];
#pragma unroll
      for (int i = 0; i < columns; ++i) column[i] = shared_b[(step * columns + i) * 16 + threadIdx.x % 16];
      tile.add(row, column);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < rows * columns; ++i) d[i * 256 + threadIdx.x] += tile.values[i];
}

extern "C" __global__ void __launch_bounds__(256) yardstick(const float* a, const float* b, float* d, int k) {
  multiply<8, 8, 16>(a, b, d, k);
}
)";

/// CPU time of kProgram on a machine for which the limits hold as stated. A server of two virtual cores takes 185 ms:
/// its limits are a quarter longer.
constexpr double kYardstickMs = 150;

}  // namespace

double compile_slowness() {
  const KernelSource source{.symbol = "yardstick",
                            .text = kProgram,
                            .options = {"--gpu-architecture=sm_90a", "--std=c++20", "--no-cache", "--ptxas-options=-v"},
                            .identity = {}};
  return std::max(1.0, Nvrtc::get().compile(source, TemplateBundle::embedded()).compile_ms / kYardstickMs);
}

}  // namespace hotgemm
