#pragma once

#include "emulate/warp_operations.hpp"
#include "ptx/device.hpp"
#include "ptx/element.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void ldmatrix_x2(u32 (&r)[2], u32 shared) {
  emulate::ldmatrix(emulate::Instruction::ldmatrix_x2, r, shared);
}
HOTGEMM_DEVICE void ldmatrix_x2_trans(u32 (&r)[2], u32 shared) {
  emulate::ldmatrix(emulate::Instruction::ldmatrix_x2_trans, r, shared);
}
HOTGEMM_DEVICE void ldmatrix_x4(u32 (&r)[4], u32 shared) {
  emulate::ldmatrix(emulate::Instruction::ldmatrix_x4, r, shared);
}
HOTGEMM_DEVICE void ldmatrix_x4_trans(u32 (&r)[4], u32 shared) {
  emulate::ldmatrix(emulate::Instruction::ldmatrix_x4_trans, r, shared);
}

template <DType kElement>
HOTGEMM_DEVICE void mma_m16n8k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  static_assert(kElement == DType::f16 || kElement == DType::bf16);
  constexpr auto kInstruction =
      kElement == DType::f16 ? emulate::Instruction::mma_m16n8k16_f32_f16 : emulate::Instruction::mma_m16n8k16_f32_bf16;
  emulate::mma_m16n8k16(kInstruction, d, a, b0, b1);
}
template <DType kElement>
HOTGEMM_DEVICE void mma_m16n8k16(u32 (&d)[2], const u32 (&a)[4], u32 b0, u32 b1) {
  static_assert(kElement == DType::f16);
  emulate::mma_m16n8k16(emulate::Instruction::mma_m16n8k16_f16_f16, d, a, b0, b1);
}

template <DType kA, DType kB>
HOTGEMM_DEVICE void mma_32_bytes(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (kA == DType::tf32) {
    static_assert(kB == DType::tf32);
    emulate::mma_m16n8k8_tf32(d, a, b0, b1);
  } else {
    static_assert(is_fp8(kA) && is_fp8(kB));
    emulate::mma_m16n8k32_fp8(kA, kB, d, a, b0, b1);
  }
}
template <DType kA, DType kB>
HOTGEMM_DEVICE void mma_32_bytes(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  static_assert(kA == DType::s8 && kB == DType::s8);
  emulate::mma_m16n8k32_s8(d, a, b0, b1);
}
HOTGEMM_DEVICE u32 cvt_rna_tf32(u32 bits) { return round_tf32(bits); }

}  // namespace hotgemm::ptx
