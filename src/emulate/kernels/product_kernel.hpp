#pragma once

#include "emulate/kernels/kernel_of.hpp"

namespace hotgemm::emulate {

// Kernels for one product and for several, and the configs and types that some of them share.
// clang-format off
inline constexpr SimtConfig kSimt{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};
inline constexpr FmaConfig kFma{.block_m = 32, .block_n = 64, .block_k = 12, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 2, .padded = false, .async_copy = true};
inline constexpr MmaConfig kMma{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 2, .store = kStagedStore};
inline constexpr WmmaConfig kWmma{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 2};
inline constexpr WgmmaConfig kBulk{.block_m = 128, .block_n = 72, .block_k = 64, .consumers = 2, .stages = 2};
inline constexpr WgmmaConfig kPingPong{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 2, .ping_pong = true, .stages = 3};
inline constexpr WgmmaConfig kDown{.block_m = 72, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
inline constexpr WgmmaConfig kHalves{.block_m = 64, .block_n = 128, .block_k = 64, .consumers = 1, .stages = 2};
inline constexpr WgmmaConfig kBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};
// clang-format on
inline constexpr KernelTypes kF16{DType::f16, DType::f32}, kBf16{DType::bf16, DType::f32}, kF32{DType::f32, DType::f32};
inline constexpr KernelTypes kF16ToF32{DType::f16, DType::f32, DType::f16, DType::f32};
inline constexpr KernelTypes kS8{DType::s8, DType::s32, DType::s8, DType::s8};

inline constexpr Epilogue kGated{
    .bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::halves, .residual = true};

/// The widths of accesses to A and B, and to D.
struct Widths {
  int ab, d;
};

/// The products that a kernel computes, by the fields of its traits.
struct Products {
  bool batched = false, grouped = false, masked = false, along_k = false, pointers = false;
};
inline constexpr Products kOne{}, kBatch{.batched = true}, kGroups{.batched = true, .grouped = true};
inline constexpr Products kMasked{.batched = true, .grouped = true, .masked = true};
inline constexpr Products kAlongK{.batched = true, .grouped = true, .along_k = true};
inline constexpr Products kByPointers{.batched = true, .pointers = true};

template <Products kProducts, KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, Op kOpB = Op::t,
          Epilogue kEpilogue = Epilogue{}, Op kOpA = Op::n>
GemmKernel product_kernel() {
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
                               .batched = kProducts.batched,
                               .grouped = kProducts.grouped,
                               .masked = kProducts.masked,
                               .along_k = kProducts.along_k,
                               .pointers = kProducts.pointers};
  return kernel_of<kTraits, kConfig>();
}

}  // namespace hotgemm::emulate
