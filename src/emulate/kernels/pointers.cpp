#include "emulate/kernels/product_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr WgmmaConfig kPair{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kSlabs{.block_m = 64, .block_n = 128, .block_k = 64, .consumers = 1, .stages = 2};
constexpr WgmmaConfig kSplit{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kLoads{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .loaders = 1};
constexpr WgmmaConfig kHalvesBeside{.block_m = 64, .block_n = 128, .block_k = 64, .consumers = 2, .split_n = true, .stages = 2};
constexpr Epilogue kSwiglu{.activation = Activation::silu, .gate = Gate::halves};
// clang-format on

template <KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, Op kOpB = Op::t>
GemmKernel kernel() {
  return product_kernel<kByPointers, kTypes, kConfig, kWidths, kReadsC, kOpB>();
}

}  // namespace

const std::vector<GemmKernel>& pointer_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, kSimt, Widths{1, 1}, true, Op::n>(),
      kernel<kF16, kMma, Widths{8, 8}, true>(),
      kernel<kF16, kBulk, Widths{8, 8}, true>(),           // persistent blocks, D by the copy engine
      kernel<kF16, kPair, Widths{8, 8}, false>(),          // copies to both blocks of a cluster
      kernel<kF16, kSlabs, Widths{8, 8}, false, Op::n>(),  // columns of B in two slabs
      kernel<kF16, kSplit, Widths{8, 8}, false>(),
      product_kernel<kByPointers, kF16, kHalvesBeside, Widths{8, 8}, false, Op::t, kSwiglu>(),  // boxes of both halves
      kernel<kF16, kLoads, Widths{1, 1}, false>(),                                              // loads by threads
  };
  return all;
}

}  // namespace hotgemm::emulate
