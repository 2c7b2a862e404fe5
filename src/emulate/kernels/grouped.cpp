#include "emulate/kernels/product_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kNone{};
constexpr Epilogue kAll{.scale_a = Scaling::vector, .bias = Bias::per_row, .aux = true, .activation = Activation::relu, .residual = true, .scalars = true};
constexpr Epilogue kColumns{.scale_b = Scaling::vector, .bias = Bias::per_column};

constexpr SimtConfig kSimt{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};
constexpr FmaConfig kFma{.block_m = 32, .block_n = 64, .block_k = 12, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 2, .padded = false, .async_copy = true};
constexpr MmaConfig kMma{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 2, .store = kStagedStore};
constexpr WmmaConfig kWmma{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 2};

constexpr WgmmaConfig kBulk{.block_m = 128, .block_n = 72, .block_k = 64, .consumers = 2, .stages = 2};
constexpr WgmmaConfig kPingPong{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 2, .ping_pong = true, .stages = 3};
constexpr WgmmaConfig kBelow{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kBeside{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_n = 2};
constexpr WgmmaConfig kDown{.block_m = 72, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};
// clang-format on

constexpr KernelTypes kF16{DType::f16, DType::f32}, kBf16{DType::bf16, DType::f32}, kF32{DType::f32, DType::f32};
constexpr KernelTypes kF16ToF32{DType::f16, DType::f32, DType::f16, DType::f32};
constexpr KernelTypes kS8{DType::s8, DType::s32, DType::s8, DType::s8};

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
  };
  return all;
}

}  // namespace hotgemm::emulate
