#pragma once

#include "shared/gemm_types.hpp"

namespace hotgemm {

// The shapes of wmma.* for 16-bit elements: 16×16×16, 32×8×16, 8×32×16. All results have 256 elements, so m determines
// the shape.

inline constexpr int kWmmaMn = 256;
inline constexpr int kWmmaK = 16;

constexpr bool is_wmma_m(int m) { return m == 8 || m == 16 || m == 32; }

/// 32-bit registers that PTX gives a lane for an operand of `outer` (m or n) × 16 elements. f16 has eight registers for
/// every shape. If the elements need fewer, elements are repeated, and the machine code omits the repeated ones.
constexpr int wmma_operand_registers(DType element, int outer) {
  switch (element) {
    case DType::f16: return 8;
    case DType::bf16: return outer * kWmmaK / 2 / 32;
    case DType::f32:
    case DType::e4m3:
    case DType::e5m2:
    case DType::s8:
    case DType::s32:
    case DType::tf32: break;
  }
  return 0;  // shapes of other types differ
}

}  // namespace hotgemm
