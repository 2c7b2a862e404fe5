#pragma once

#include "shared/gemm_types.hpp"

namespace hotgemm {

/// Whether kernels on CUDA cores convert elements of `type` to f32 and back.
constexpr bool is_cuda_core_type(DType type) {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return true;
    case DType::e4m3:
    case DType::e5m2:
    case DType::s8:
    case DType::s32: return false;
  }
  return false;
}

/// What the problem, and not the tuner, fixes about a kernel. Together with a family's config it determines the cubin.
///
/// `vec_a`, `vec_b`, `vec_d` are the widest accesses, in elements, that pointer and leading dimension of A, of B, and
/// of C and D together allow (16 bytes at most).
struct GemmTraits {
  DType element = DType::f16;
  DType accumulator = DType::f32;
  Op op_a = Op::n;
  Op op_b = Op::n;
  bool reads_c = false;  ///< beta may be non-zero; a kernel with reads_c == false never touches C
  int vec_a = 8;
  int vec_b = 8;
  int vec_d = 8;

  friend constexpr bool operator==(const GemmTraits&, const GemmTraits&) = default;

  /// A is stored with k contiguous (row-major m×k read as it is).
  constexpr bool a_is_k_major() const { return op_a == Op::n; }
  /// B is stored with k contiguous (row-major n×k, transposed).
  constexpr bool b_is_k_major() const { return op_b == Op::t; }
};

}  // namespace hotgemm
