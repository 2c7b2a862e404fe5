#pragma once

#include "ptx/convert.hpp"
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

// The same for the 32 bytes of k of other elements, in the same places.

// clang-format off
#define HOTGEMM_MMA_F32(shape, types)                                                                          \
  HOTGEMM_PTX("mma.sync.aligned." shape ".row.col.f32." types ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "      \
              "{%8, %9}, {%0, %1, %2, %3};"                                                                    \
              : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                 \
              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
// clang-format on

/// d += a * b for FP8 (sm_89 and later), or for f32 of which the first 19 bits count as TF32.
template <DType kA, DType kB>
HOTGEMM_DEVICE void mma_32_bytes(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (kA == DType::tf32) {
    static_assert(kB == DType::tf32);
    HOTGEMM_MMA_F32("m16n8k8", "tf32.tf32");
  } else if constexpr (kA == DType::e4m3) {
    if constexpr (kB == DType::e4m3) {
      HOTGEMM_MMA_F32("m16n8k32", "e4m3.e4m3");
    } else {
      HOTGEMM_MMA_F32("m16n8k32", "e4m3.e5m2");
    }
  } else {
    static_assert(kA == DType::e5m2);
    if constexpr (kB == DType::e4m3) {
      HOTGEMM_MMA_F32("m16n8k32", "e5m2.e4m3");
    } else {
      HOTGEMM_MMA_F32("m16n8k32", "e5m2.e5m2");
    }
  }
}
#undef HOTGEMM_MMA_F32

/// d += a * b for s8. Sums wrap.
template <DType kA, DType kB>
HOTGEMM_DEVICE void mma_32_bytes(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  static_assert(kA == DType::s8 && kB == DType::s8);
  HOTGEMM_PTX(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// The bits of an f32, rounded to the nearest TF32 and away from zero in a tie.
HOTGEMM_DEVICE u32 cvt_rna_tf32(u32 bits) {
  u32 rounded = 0;
  HOTGEMM_PTX_PURE("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(float_of(bits)));
  return rounded;
}

}  // namespace hotgemm::ptx
