#include "emulate/kernels/product_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kNone{};
constexpr Epilogue kAll{.scale_a = Scaling::vector, .bias = Bias::per_row, .aux = true, .activation = Activation::relu, .residual = true, .scalars = true};
constexpr Epilogue kColumns{.scale_b = Scaling::vector, .bias = Bias::per_column};

constexpr WgmmaConfig kBelow{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kBeside{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_n = 2};
// clang-format on

template <KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, Op kOpB = Op::t, Epilogue kEpilogue = kNone>
GemmKernel kernel() {
  return product_kernel<true, kTypes, kConfig, kWidths, kReadsC, kOpB, kEpilogue>();
}

}  // namespace

const std::vector<GemmKernel>& grouped_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, kSimt, Widths{1, 1}, true, Op::n>(),
      kernel<kBf16, kSimt, Widths{1, 1}, true, Op::t, kAll>(),
      kernel<kF32, kFma, Widths{2, 2}, false>(),
      kernel<kF16, kMma, Widths{8, 8}, true>(),
      kernel<kBf16, kMma, Widths{1, 1}, false, Op::n, kColumns>(),
      kernel<kF16, kWmma, Widths{8, 8}, true>(),
      kernel<kF16, kBulk, Widths{8, 8}, false>(),  // D by the copy engine, but for the ends of groups
      kernel<kBf16, kBulk, Widths{8, 8}, true, Op::t, kAll>(),
      kernel<kBf16, kPingPong, Widths{8, 1}, true>(),     // D by lanes, at any alignment
      kernel<kF16, kBelow, Widths{8, 8}, true, Op::n>(),  // blocks of a cluster share B
      kernel<kF16, kBeside, Widths{8, 8}, false>(),       // and A
      kernel<kBf16, kDown, Widths{8, 8}, false>(),        // transposed
      kernel<kF16ToF32, kBulk, Widths{8, 4}, true>(),     // by the copy engine, from 32 bits
      kernel<kS8, kBytes, Widths{16, 16}, false>(),       // right from registers
      kernel<kBf16, kMma, Widths{8, 8}, false, Op::t, kGated>(),
      kernel<kF16, kHalves, Widths{8, 8}, false, Op::n, kGated>(),
  };
  return all;
}

}  // namespace hotgemm::emulate
