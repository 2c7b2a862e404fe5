#include "emulate/kernels/product_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kNone{};
constexpr Epilogue kAll{.scale_a = Scaling::vector, .bias = Bias::per_column, .aux = true, .activation = Activation::relu, .residual = true, .scalars = true};

constexpr WgmmaConfig kOneTile{.block_m = 64, .block_n = 80, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 2};
constexpr WgmmaConfig kPair{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kSquare{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2, .cluster_n = 2};
constexpr WgmmaConfig kSplit{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kSplitPair{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .cluster_n = 2, .split_k = true};
constexpr WgmmaConfig kLoads{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .loaders = 1};
// clang-format on

constexpr KernelTypes kS8ToF32{DType::s8, DType::s32, DType::s8, DType::f32};

template <KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, Op kOpB = Op::t, Epilogue kEpilogue = kNone>
GemmKernel kernel() {
  return product_kernel<kBatch, kTypes, kConfig, kWidths, kReadsC, kOpB, kEpilogue>();
}

}  // namespace

const std::vector<GemmKernel>& batched_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, kSimt, Widths{1, 1}, true, Op::n>(),
      kernel<kBf16, kSimt, Widths{1, 1}, true, Op::t, kAll>(),
      kernel<kF32, kFma, Widths{2, 2}, false>(),
      kernel<kF16, kMma, Widths{8, 8}, true>(),
      kernel<kBf16, kMma, Widths{1, 1}, false, Op::n, kAll>(),
      kernel<kF16, kWmma, Widths{8, 8}, true>(),
      kernel<kF16, kBulk, Widths{8, 8}, false>(),  // persistent blocks, D by the copy engine
      kernel<kBf16, kBulk, Widths{8, 8}, true, Op::t, kAll>(),
      kernel<kBf16, kPingPong, Widths{8, 1}, true>(),  // D by lanes, at any alignment
      kernel<kF16, kOneTile, Widths{8, 8}, false>(),
      kernel<kF16, kPair, Widths{8, 8}, true, Op::n>(),  // copies to both blocks of a cluster
      kernel<kF16, kSquare, Widths{8, 8}, false>(),      // to two of the four of a cluster
      kernel<kBf16, kDown, Widths{8, 8}, false>(),       // transposed
      kernel<kF16, kSplit, Widths{8, 8}, true, Op::t, kAll>(),
      kernel<kF16, kSplitPair, Widths{8, 8}, false>(),
      kernel<kF16, kLoads, Widths{1, 1}, false>(),        // loads by threads, at any alignment
      kernel<kF16ToF32, kOneTile, Widths{8, 1}, true>(),  // right from registers
      kernel<kF16ToF32, kBulk, Widths{8, 4}, false>(),
      kernel<kS8, kBytes, Widths{16, 16}, false>(),
      kernel<kS8ToF32, kBytes, Widths{16, 4}, false, Op::t, kAll>(),
      kernel<kBf16, kMma, Widths{8, 8}, false, Op::n, kGated>(),
      kernel<kF16, kHalves, Widths{8, 8}, false, Op::t, kGated>(),
  };
  return all;
}

}  // namespace hotgemm::emulate
