#include "emulate/kernels/product_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kBlocks{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128};
constexpr Epilogue kChain{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .bias = Bias::per_column, .aux = true, .activation = Activation::relu};
constexpr Epilogue kHalfGates{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .activation = Activation::relu, .gate = Gate::halves};
constexpr Epilogue kInterleaved{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::interleaved};

constexpr MmaConfig kHalfBlocks{.block_m = 32, .block_n = 64, .block_k = 64, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 2, .store = kDirectStore};  // two k-tiles of a block
constexpr WgmmaConfig kWide{.block_m = 128, .block_n = 192, .block_k = 128, .consumers = 2, .stages = 2, .promote = true};  // parts over two blocks of columns
constexpr WgmmaConfig kTall{.block_m = 128, .block_n = 48, .block_k = 128, .consumers = 1, .stages = 2, .split_k = true, .promote = true};  // two instructions
constexpr WgmmaConfig kTransposed{.block_m = 24, .block_n = 128, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true, .promote = true};
constexpr WgmmaConfig kTransposedParts{.block_m = 24, .block_n = 128, .block_k = 128, .consumers = 2, .split_n = true, .stages = 2, .transposed = true, .promote = true};
constexpr WgmmaConfig kTurns{.block_m = 64, .block_n = 32, .block_k = 128, .consumers = 2, .ping_pong = true, .stages = 3, .promote = true};
constexpr WgmmaConfig kLongTurns{.block_m = 64, .block_n = 32, .block_k = 256, .consumers = 2, .ping_pong = true, .stages = 3, .promote = true};  // two blocks of k in a k-tile
constexpr WgmmaConfig kLongRows{.block_m = 24, .block_n = 64, .block_k = 256, .consumers = 1, .stages = 2, .transposed = true, .promote = true};
constexpr WgmmaConfig kLongParts{.block_m = 128, .block_n = 32, .block_k = 256, .consumers = 2, .stages = 2, .promote = true};
constexpr WgmmaConfig kLongPair{.block_m = 64, .block_n = 64, .block_k = 256, .consumers = 1, .stages = 2, .cluster_m = 2, .promote = true};
constexpr WgmmaConfig kLongSplit{.block_m = 64, .block_n = 48, .block_k = 256, .consumers = 1, .stages = 2, .split_k = true, .promote = true};
constexpr WgmmaConfig kBesideEachOther{.block_m = 64, .block_n = 192, .block_k = 128, .consumers = 2, .split_n = true, .stages = 3, .cluster_m = 2, .promote = true};
constexpr WgmmaConfig kPair{.block_m = 64, .block_n = 8, .block_k = 128, .consumers = 1, .stages = 2, .cluster_n = 2, .promote = true};
constexpr WgmmaConfig kThree{.block_m = 192, .block_n = 16, .block_k = 128, .consumers = 3, .stages = 2, .promote = true};  // the scales of one k-tile on their way
// clang-format on

constexpr KernelTypes kToBf16{DType::e4m3, DType::f32, DType::e4m3, DType::bf16};
constexpr KernelTypes kToF32{DType::e4m3, DType::f32, DType::e5m2, DType::f32};

/// With accesses of 16 bytes.
template <Products kProducts, auto kConfig, bool kReadsC, Epilogue kEpilogue = kBlocks>
GemmKernel kernel() {
  return product_kernel<kProducts, kToBf16, kConfig, Widths{16, 8}, kReadsC, Op::t, kEpilogue>();
}

}  // namespace

const std::vector<GemmKernel>& block_scaled_kernels() {
  static const std::vector<GemmKernel> all = {
      product_kernel<kGroups, kToF32, kSimt, Widths{1, 1}, true, Op::n, kBlocks>(),
      product_kernel<kMasked, kToF32, kSimt, Widths{1, 1}, false, Op::t, kBlocks, Op::t>(),
      product_kernel<kByPointers, kToF32, kSimt, Widths{1, 1}, false, Op::t, kBlocks>(),
      product_kernel<kOne, kToF32, kHalfBlocks, Widths{4, 1}, false, Op::n, kBlocks, Op::t>(),  // in another order
      product_kernel<kBatch, kToF32, kHalfBlocks, Widths{4, 1}, false, Op::n, kHalfGates>(),
      product_kernel<kAlongK, kToF32, kSimt, Widths{1, 1}, true, Op::n, kBlocks, Op::t>(),
      product_kernel<kAlongK, kToF32, kHalfBlocks, Widths{4, 1}, false, Op::n, kBlocks, Op::t>(),
      kernel<kGroups, kWide, false>(),
      kernel<kMasked, kWide, false>(),  // consumers without rows
      kernel<kOne, kWide, false, kInterleaved>(),
      kernel<kOne, kTall, true>(),
      kernel<kOne, kTransposed, false, kChain>(),
      kernel<kBatch, kTransposedParts, false>(),
      kernel<kBatch, kTurns, true>(),
      kernel<kGroups, kLongTurns, false>(),
      kernel<kMasked, kLongParts, false>(),
      kernel<kOne, kLongPair, false, kHalfGates>(),
      kernel<kOne, kLongRows, true>(),
      kernel<kOne, kLongSplit, false>(),
      kernel<kOne, kPair, false>(),
      kernel<kOne, kThree, false>(),
      kernel<kOne, kBesideEachOther, false, kHalfGates>(),  // parts that begin in other blocks
  };
  return all;
}

}  // namespace hotgemm::emulate
