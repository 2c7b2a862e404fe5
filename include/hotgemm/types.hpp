#pragma once

#include <hotgemm/export.hpp>
#include <hotgemm/gemm_types.hpp>  // DType, Op
#include <hotgemm/operands.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

struct CUstream_st;

namespace hotgemm {

/// A CUDA stream: `CUstream` and `cudaStream_t` are this type. nullptr is the legacy default stream.
using Stream = CUstream_st*;

/// "f16", "bf16", "f32".
HOTGEMM_API std::string_view to_string(DType dtype);
/// "n", "t".
HOTGEMM_API std::string_view to_string(Op op);
/// Inverses of to_string; throw Error{invalid_argument} that names `text`.
HOTGEMM_API DType parse_dtype(std::string_view text);
HOTGEMM_API Op parse_op(std::string_view text);

/// What is computed, without pointers: D = alpha * op(A) * op(B) + beta * C.
///
/// All matrices are row-major. op(A) is m×k, op(B) is k×n, C and D are m×n; a matrix with Op::t is stored transposed
/// (A as k×m, B as n×k). Column-major users swap the operands: a column-major m×n product is the row-major n×m product
/// of B and A.
///
/// A problem that differs only in m within a bucket (see `class_m`) is in the same problem class: it is planned, tuned
/// and recorded once.
struct Problem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Op op_a = Op::n;
  Op op_b = Op::n;
  DType dtype = DType::f16;        ///< element type of A, B, C and D
  DType accumulator = DType::f32;  ///< f32, or f16 where dtype is f16
  /// Alignment class of an operand: the largest of 16, 8, 4, 2 bytes that divides both its address and the byte length
  /// of its leading dimension. align_d is that of C and D together. An operand whose rows are 2^40 bytes or more apart
  /// is in class 8 at most: no tensor map has such a stride.
  int align_a = 16;
  int align_b = 16;
  int align_d = 16;
  bool beta_is_zero = true;  ///< C is not read

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// "4096x4096x512 nt f16 f32 a16 b16 d16 beta0"; parse accepts what to_string prints, and the alignments and beta may
/// be left out. Throws Error{invalid_argument}.
HOTGEMM_API std::string to_string(const Problem& problem);
HOTGEMM_API Problem parse_problem(std::string_view text);

/// The smallest bucket of m that holds `m`: 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, then four steps to each doubling.
/// The last bucket ends at 2147482623 = 2^31 - 1025, the largest size.
HOTGEMM_API std::int64_t class_m(std::int64_t m);

}  // namespace hotgemm
