#include "emulate/kernels/product_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kBlocks{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128};
constexpr Epilogue kChain{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .bias = Bias::per_column, .aux = true, .activation = Activation::relu};

constexpr MmaConfig kHalfBlocks{.block_m = 32, .block_n = 64, .block_k = 64, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 2, .store = kDirectStore};  // two k-tiles of a block
constexpr WgmmaConfig kWide{.block_m = 128, .block_n = 192, .block_k = 128, .consumers = 2, .stages = 2, .promote = true};  // parts over two blocks of columns
constexpr WgmmaConfig kTall{.block_m = 128, .block_n = 48, .block_k = 128, .consumers = 1, .one_tile = true, .stages = 2, .split_k = true, .promote = true};  // two instructions
constexpr WgmmaConfig kTransposed{.block_m = 24, .block_n = 128, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true, .promote = true};
// clang-format on

template <KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, bool kGrouped, Op kOpA = Op::n,
          Op kOpB = Op::t, Epilogue kEpilogue = kBlocks>
GemmKernel kernel() {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_a = kOpA,
                               .op_b = kOpB,
                               .reads_c = kReadsC,
                               .vec_a = kWidths.ab,
                               .vec_b = kWidths.ab,
                               .vec_d = kWidths.d,
                               .epilogue = kEpilogue,
                               .batched = kGrouped,
                               .grouped = kGrouped};
  return kernel_of<kTraits, kConfig>();
}

constexpr KernelTypes kToBf16{DType::e4m3, DType::f32, DType::e4m3, DType::bf16};
constexpr KernelTypes kToF32{DType::e4m3, DType::f32, DType::e5m2, DType::f32};

}  // namespace

const std::vector<GemmKernel>& block_scaled_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kToF32, kSimt, Widths{1, 1}, true, true, Op::n, Op::n>(),
      kernel<kToF32, kHalfBlocks, Widths{4, 1}, false, false, Op::t, Op::n>(),  // rows and columns out of order
      kernel<kToBf16, kWide, Widths{16, 8}, false, true>(),
      kernel<kToBf16, kTall, Widths{16, 8}, true, false>(),
      kernel<kToBf16, kTransposed, Widths{16, 8}, false, false, Op::n, Op::t, kChain>(),
  };
  return all;
}

}  // namespace hotgemm::emulate
