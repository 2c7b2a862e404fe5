#pragma once

#include "ptx/device.hpp"
#include "shared/gemm_types.hpp"
#include "shared/wmma_shape.hpp"

// wmma.*: matrix products of a warp with opaque operands. The architecture decides which lane holds which element; a
// fragment can be loaded, multiplied and stored. f16 on sm_70 and later, bf16 on sm_80 and later.
//
// kM selects the shape (shared/wmma_shape.hpp). Matrices are stored by rows (kRow) or by columns, `stride` elements
// apart, in shared memory unless a function's name says otherwise. The registers of a fragment are valid only for
// products of the same kM and the same order. All lanes must pass the same address and stride.
//
// Alignment of operands: for wmma.load the PTX ISA requires that each row (or column) begins at a multiple of the
// fragment's size, 32 bytes for f16. The C++ interface of CUDA requires this of the first row only, and 16 bytes for
// the stride. On sm_80 and later the loads from shared memory become ldmatrix, which needs 16 bytes, and those from
// global memory loads of 4 bytes. The family `wmma` provides 16 bytes, and in global memory what the C++ interface
// asks.

namespace hotgemm::ptx {

#define HOTGEMM_WMMA_LOAD_2(text, place) \
  HOTGEMM_PTX(text " {%0, %1}, [%2], %3;" : "=r"(r[0]), "=r"(r[1]) : place, "r"(stride) : "memory")
#define HOTGEMM_WMMA_LOAD_4(text, place)                       \
  HOTGEMM_PTX(text " {%0, %1, %2, %3}, [%4], %5;"              \
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) \
              : place, "r"(stride)                             \
              : "memory")
#define HOTGEMM_WMMA_LOAD_8(text, place)                                                                       \
  HOTGEMM_PTX(text " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"                                              \
              : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) \
              : place, "r"(stride)                                                                             \
              : "memory")
/// The load of one operand and shape from a state space. bf16 fragments have `bf16_registers` registers.
#define HOTGEMM_WMMA_LOAD(operand, shape, bf16_registers, space, place)                                       \
  if constexpr (kElement == DType::f16) {                                                                     \
    if constexpr (kRow) {                                                                                     \
      HOTGEMM_WMMA_LOAD_8("wmma.load." operand ".sync.aligned.row." shape space ".f16", place);               \
    } else {                                                                                                  \
      HOTGEMM_WMMA_LOAD_8("wmma.load." operand ".sync.aligned.col." shape space ".f16", place);               \
    }                                                                                                         \
  } else if constexpr (kRow) {                                                                                \
    HOTGEMM_WMMA_LOAD_##bf16_registers("wmma.load." operand ".sync.aligned.row." shape space ".bf16", place); \
  } else {                                                                                                    \
    HOTGEMM_WMMA_LOAD_##bf16_registers("wmma.load." operand ".sync.aligned.col." shape space ".bf16", place); \
  }

/// wmma.load.a: kM × 16 elements.
template <int kM, DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_a(u32 (&r)[wmma_operand_registers(kElement, kM)], u32 shared, int stride) {
  static_assert(is_wmma_m(kM) && (kElement == DType::f16 || kElement == DType::bf16));
  if constexpr (kM == 16) {
    HOTGEMM_WMMA_LOAD("a", "m16n16k16", 4, ".shared", "r"(shared))
  } else if constexpr (kM == 32) {
    HOTGEMM_WMMA_LOAD("a", "m32n8k16", 8, ".shared", "r"(shared))
  } else {
    HOTGEMM_WMMA_LOAD("a", "m8n32k16", 2, ".shared", "r"(shared))
  }
}

/// wmma.load.b: 16 × 256 / kM elements.
template <int kM, DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_b(u32 (&r)[wmma_operand_registers(kElement, kWmmaMn / kM)], u32 shared, int stride) {
  static_assert(is_wmma_m(kM) && (kElement == DType::f16 || kElement == DType::bf16));
  if constexpr (kM == 16) {
    HOTGEMM_WMMA_LOAD("b", "m16n16k16", 4, ".shared", "r"(shared))
  } else if constexpr (kM == 32) {
    HOTGEMM_WMMA_LOAD("b", "m32n8k16", 2, ".shared", "r"(shared))
  } else {
    HOTGEMM_WMMA_LOAD("b", "m8n32k16", 8, ".shared", "r"(shared))
  }
}

/// wmma.load.a of 16 × 16 elements in global memory, at a multiple of 32 bytes. The stride is a multiple of 16 bytes.
template <DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_a_global(u32 (&r)[wmma_operand_registers(kElement, 16)], u64 global, int stride) {
  static_assert(kElement == DType::f16 || kElement == DType::bf16);
  HOTGEMM_WMMA_LOAD("a", "m16n16k16", 4, ".global", "l"(global))
}

/// The same for wmma.load.b.
template <DType kElement, bool kRow>
HOTGEMM_DEVICE void wmma_load_b_global(u32 (&r)[wmma_operand_registers(kElement, 16)], u64 global, int stride) {
  static_assert(kElement == DType::f16 || kElement == DType::bf16);
  HOTGEMM_WMMA_LOAD("b", "m16n16k16", 4, ".global", "l"(global))
}

#undef HOTGEMM_WMMA_LOAD
#undef HOTGEMM_WMMA_LOAD_8
#undef HOTGEMM_WMMA_LOAD_4
#undef HOTGEMM_WMMA_LOAD_2

#define HOTGEMM_WMMA_F32 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define HOTGEMM_WMMA_IN_2(x) "r"(x[0]), "r"(x[1])
#define HOTGEMM_WMMA_IN_4(x) HOTGEMM_WMMA_IN_2(x), "r"(x[2]), "r"(x[3])
#define HOTGEMM_WMMA_IN_8(x) HOTGEMM_WMMA_IN_4(x), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7])
#define HOTGEMM_WMMA_D8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define HOTGEMM_WMMA_A8 "{%8, %9, %10, %11, %12, %13, %14, %15}"

#define HOTGEMM_WMMA_F32_F16(shape, orders)                                                              \
  HOTGEMM_PTX("wmma.mma.sync.aligned." orders "." shape ".f32.f32 " HOTGEMM_WMMA_D8 ", " HOTGEMM_WMMA_A8 \
              ", {%16, %17, %18, %19, %20, %21, %22, %23}, " HOTGEMM_WMMA_D8 ";"                         \
              : HOTGEMM_WMMA_F32                                                                         \
              : HOTGEMM_WMMA_IN_8(a), HOTGEMM_WMMA_IN_8(b))
#define HOTGEMM_WMMA_F32_BF16_16(shape, orders)                                               \
  HOTGEMM_PTX("wmma.mma.sync.aligned." orders "." shape ".f32.bf16.bf16.f32 " HOTGEMM_WMMA_D8 \
              ", {%8, %9, %10, %11}, {%12, %13, %14, %15}, " HOTGEMM_WMMA_D8 ";"              \
              : HOTGEMM_WMMA_F32                                                              \
              : HOTGEMM_WMMA_IN_4(a), HOTGEMM_WMMA_IN_4(b))
#define HOTGEMM_WMMA_F32_BF16_32(shape, orders)                                                                    \
  HOTGEMM_PTX("wmma.mma.sync.aligned." orders "." shape ".f32.bf16.bf16.f32 " HOTGEMM_WMMA_D8 ", " HOTGEMM_WMMA_A8 \
              ", {%16, %17}, " HOTGEMM_WMMA_D8 ";"                                                                 \
              : HOTGEMM_WMMA_F32                                                                                   \
              : HOTGEMM_WMMA_IN_8(a), HOTGEMM_WMMA_IN_2(b))
#define HOTGEMM_WMMA_F32_BF16_8(shape, orders)                                                \
  HOTGEMM_PTX("wmma.mma.sync.aligned." orders "." shape ".f32.bf16.bf16.f32 " HOTGEMM_WMMA_D8 \
              ", {%8, %9}, {%10, %11, %12, %13, %14, %15, %16, %17}, " HOTGEMM_WMMA_D8 ";"    \
              : HOTGEMM_WMMA_F32                                                              \
              : HOTGEMM_WMMA_IN_2(a), HOTGEMM_WMMA_IN_8(b))
#define HOTGEMM_WMMA_F16_F16(shape, orders)                                                    \
  HOTGEMM_PTX("wmma.mma.sync.aligned." orders "." shape                                        \
              ".f16.f16 {%0, %1, %2, %3}, "                                                    \
              "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19}, " \
              "{%0, %1, %2, %3};"                                                              \
              : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                 \
              : HOTGEMM_WMMA_IN_8(a), HOTGEMM_WMMA_IN_8(b))

/// The product of one shape, for each order of its operands.
#define HOTGEMM_WMMA_MMA(product, shape) \
  if constexpr (kRowA && kRowB) {        \
    product(shape, "row.row");           \
  } else if constexpr (kRowA) {          \
    product(shape, "row.col");           \
  } else if constexpr (kRowB) {          \
    product(shape, "col.row");           \
  } else {                               \
    product(shape, "col.col");           \
  }

/// wmma.mma: d += a * b with f32 accumulators; kElement is f16 or bf16.
template <int kM, DType kElement, bool kRowA, bool kRowB, int kA, int kB>
HOTGEMM_DEVICE void wmma_mma(float (&d)[8], const u32 (&a)[kA], const u32 (&b)[kB]) {
  static_assert(is_wmma_m(kM) && kA == wmma_operand_registers(kElement, kM));
  static_assert(kB == wmma_operand_registers(kElement, kWmmaMn / kM));
  static_assert(kElement == DType::f16 || kElement == DType::bf16);
  if constexpr (kElement == DType::f16) {
    if constexpr (kM == 16) {
      HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F32_F16, "m16n16k16")
    } else if constexpr (kM == 32) {
      HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F32_F16, "m32n8k16")
    } else {
      HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F32_F16, "m8n32k16")
    }
  } else if constexpr (kM == 16) {
    HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F32_BF16_16, "m16n16k16")
  } else if constexpr (kM == 32) {
    HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F32_BF16_32, "m32n8k16")
  } else {
    HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F32_BF16_8, "m8n32k16")
  }
}

/// The same with f16 accumulators, two per register.
template <int kM, DType kElement, bool kRowA, bool kRowB, int kA, int kB>
HOTGEMM_DEVICE void wmma_mma(u32 (&d)[4], const u32 (&a)[kA], const u32 (&b)[kB]) {
  static_assert(is_wmma_m(kM) && kElement == DType::f16 && kA == 8 && kB == 8);
  if constexpr (kM == 16) {
    HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F16_F16, "m16n16k16")
  } else if constexpr (kM == 32) {
    HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F16_F16, "m32n8k16")
  } else {
    HOTGEMM_WMMA_MMA(HOTGEMM_WMMA_F16_F16, "m8n32k16")
  }
}

#undef HOTGEMM_WMMA_MMA
#undef HOTGEMM_WMMA_F16_F16
#undef HOTGEMM_WMMA_F32_BF16_8
#undef HOTGEMM_WMMA_F32_BF16_32
#undef HOTGEMM_WMMA_F32_BF16_16
#undef HOTGEMM_WMMA_F32_F16
#undef HOTGEMM_WMMA_A8
#undef HOTGEMM_WMMA_D8
#undef HOTGEMM_WMMA_IN_8
#undef HOTGEMM_WMMA_IN_4
#undef HOTGEMM_WMMA_IN_2
#undef HOTGEMM_WMMA_F32

#define HOTGEMM_WMMA_STORE_F32(shape)                                                                             \
  HOTGEMM_PTX("wmma.store.d.sync.aligned.row." shape                                                              \
              ".shared.f32 [%0], {%2, %3, %4, %5, %6, %7, %8, %9}, %1;" ::"r"(shared),                            \
              "r"(stride), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]) \
              : "memory")
#define HOTGEMM_WMMA_STORE_F16(shape)                                                                         \
  HOTGEMM_PTX("wmma.store.d.sync.aligned.row." shape ".shared.f16 [%0], {%2, %3, %4, %5}, %1;" ::"r"(shared), \
              "r"(stride), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3])                                         \
              : "memory")

/// wmma.store.d by rows: kM × 256 / kM elements of f32. Each row begins at a multiple of 32 bytes.
template <int kM>
HOTGEMM_DEVICE void wmma_store_d(u32 shared, const float (&d)[8], int stride) {
  static_assert(is_wmma_m(kM));
  if constexpr (kM == 16) {
    HOTGEMM_WMMA_STORE_F32("m16n16k16");
  } else if constexpr (kM == 32) {
    HOTGEMM_WMMA_STORE_F32("m32n8k16");
  } else {
    HOTGEMM_WMMA_STORE_F32("m8n32k16");
  }
}

/// The same for f16. Each row begins at a multiple of 16 bytes.
template <int kM>
HOTGEMM_DEVICE void wmma_store_d(u32 shared, const u32 (&d)[4], int stride) {
  static_assert(is_wmma_m(kM));
  if constexpr (kM == 16) {
    HOTGEMM_WMMA_STORE_F16("m16n16k16");
  } else if constexpr (kM == 32) {
    HOTGEMM_WMMA_STORE_F16("m32n8k16");
  } else {
    HOTGEMM_WMMA_STORE_F16("m8n32k16");
  }
}

#undef HOTGEMM_WMMA_STORE_F16
#undef HOTGEMM_WMMA_STORE_F32

}  // namespace hotgemm::ptx
