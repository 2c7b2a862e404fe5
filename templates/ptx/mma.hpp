#pragma once

#include "ptx/device.hpp"
#include "shared/gemm_types.hpp"

// Tensor-core instructions of sm_80 and later, and the loads that feed them.

namespace hotgemm::ptx {

/// Loads two 8×8 matrices of 16-bit elements. Lanes 8*i .. 8*i+7 hold the row addresses of matrix i; the addresses of
/// the other lanes are not used.
HOTGEMM_DEVICE void ldmatrix_x2(u32 (&r)[2], u32 shared) {
  HOTGEMM_PTX("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
              : "=r"(r[0]), "=r"(r[1])
              : "r"(shared)
              : "memory");
}
/// The same, but each matrix is transposed when it is loaded.
HOTGEMM_DEVICE void ldmatrix_x2_trans(u32 (&r)[2], u32 shared) {
  HOTGEMM_PTX("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
              : "=r"(r[0]), "=r"(r[1])
              : "r"(shared)
              : "memory");
}
/// Loads four 8×8 matrices of 16-bit elements. Lanes 8*i .. 8*i+7 hold the row addresses of matrix i.
HOTGEMM_DEVICE void ldmatrix_x4(u32 (&r)[4], u32 shared) {
  HOTGEMM_PTX("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
              : "r"(shared)
              : "memory");
}
/// The same, but each matrix is transposed when it is loaded.
HOTGEMM_DEVICE void ldmatrix_x4_trans(u32 (&r)[4], u32 shared) {
  HOTGEMM_PTX("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
              : "r"(shared)
              : "memory");
}

/// d += a * b with f32 accumulators; kElement is f16 or bf16.
template <DType kElement>
HOTGEMM_DEVICE void mma_m16n8k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (kElement == DType::f16) {
    HOTGEMM_PTX(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    static_assert(kElement == DType::bf16);
    HOTGEMM_PTX(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// d += a * b with f16 accumulators, two per register.
template <DType kElement>
HOTGEMM_DEVICE void mma_m16n8k16(u32 (&d)[2], const u32 (&a)[4], u32 b0, u32 b1) {
  static_assert(kElement == DType::f16);
  HOTGEMM_PTX("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
              : "+r"(d[0]), "+r"(d[1])
              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace hotgemm::ptx
