#pragma once

#include "emulate/wmma_operations.hpp"
#include "ptx/device.hpp"
#include "shared/gemm_types.hpp"
#include "shared/wmma_shape.hpp"

namespace hotgemm::ptx {

template <int kM, DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_a(u32 (&r)[wmma_operand_registers(kElement, kM)], u32 shared, int stride) {
  static_assert(is_wmma_m(kM));
  constexpr emulate::WmmaLines kLines = kRow ? emulate::WmmaLines{kM, 16} : emulate::WmmaLines{16, kM};
  emulate::wmma_load(emulate::Instruction::wmma_load_a, kLines, r, wmma_operand_registers(kElement, kM), shared,
                     stride);
}
template <int kM, DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_b(u32 (&r)[wmma_operand_registers(kElement, kWmmaMn / kM)], u32 shared, int stride) {
  static_assert(is_wmma_m(kM));
  constexpr int kN = kWmmaMn / kM;
  constexpr emulate::WmmaLines kLines = kRow ? emulate::WmmaLines{16, kN} : emulate::WmmaLines{kN, 16};
  emulate::wmma_load(emulate::Instruction::wmma_load_b, kLines, r, wmma_operand_registers(kElement, kN), shared,
                     stride);
}

template <DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_a_global(u32 (&r)[wmma_operand_registers(kElement, 16)], u64 global, int stride) {
  emulate::wmma_load_global(emulate::Instruction::wmma_load_a, r, wmma_operand_registers(kElement, 16), global, stride);
}
template <DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_b_global(u32 (&r)[wmma_operand_registers(kElement, 16)], u64 global, int stride) {
  emulate::wmma_load_global(emulate::Instruction::wmma_load_b, r, wmma_operand_registers(kElement, 16), global, stride);
}

template <int kM, DType kElement, bool kRowA, bool kRowB, int kA, int kB>
HOTGEMM_DEVICE void wmma_mma(float (&d)[8], const u32 (&a)[kA], const u32 (&b)[kB]) {
  static_assert(is_wmma_m(kM) && kA == wmma_operand_registers(kElement, kM));
  static_assert(kB == wmma_operand_registers(kElement, kWmmaMn / kM));
  static_assert(kElement == DType::f16 || kElement == DType::bf16);
  constexpr auto kInstruction =
      kElement == DType::f16 ? emulate::Instruction::wmma_mma_f32_f16 : emulate::Instruction::wmma_mma_f32_bf16;
  emulate::wmma_mma(kInstruction, {kM, kRowA, kRowB, kA, kB}, d, a, b);
}
template <int kM, DType kElement, bool kRowA, bool kRowB, int kA, int kB>
HOTGEMM_DEVICE void wmma_mma(u32 (&d)[4], const u32 (&a)[kA], const u32 (&b)[kB]) {
  static_assert(is_wmma_m(kM) && kElement == DType::f16 && kA == 8 && kB == 8);
  emulate::wmma_mma(emulate::Instruction::wmma_mma_f16_f16, {kM, kRowA, kRowB, kA, kB}, d, a, b);
}

template <int kM>
HOTGEMM_DEVICE void wmma_store_d(u32 shared, const float (&d)[8], int stride) {
  emulate::wmma_store(kM, shared, d, stride);
}
template <int kM>
HOTGEMM_DEVICE void wmma_store_d(u32 shared, const u32 (&d)[4], int stride) {
  emulate::wmma_store(kM, shared, d, stride);
}

}  // namespace hotgemm::ptx
