#pragma once

#include "shared/gemm_types.hpp"

namespace hotgemm {

/// True if `wgmma` reads these elements only if k is contiguous: all but those of 16 bits.
constexpr bool reads_k_major_only(DType element) { return size_bytes(element) != 2; }

/// The length of a k-tile with as many bytes as one of `block_k` elements of 16 bits.
constexpr int typed_block_k(int block_k, DType element) { return block_k * 2 / size_bytes(element); }

/// The properties of a kernel that the problem fixes, not the tuner. Together with a family's config they determine the
/// cubin.
///
/// `vec_a`, `vec_b`, `vec_d` are the widest accesses, in elements, that the pointers and leading dimensions of A, of B,
/// and of C, D, residual and auxiliary output allow (16 bytes at most).
struct GemmTraits {
  DType element = DType::f16;  ///< the type of A
  DType accumulator = DType::f32;
  DType element_b = element;
  DType element_d = element;  ///< the type of C and D
  Op op_a = Op::n;
  Op op_b = Op::n;
  bool reads_c = false;  ///< beta may be non-zero; a kernel with reads_c == false never touches C
  int vec_a = 8;
  int vec_b = 8;
  int vec_d = 8;
  bool fast_sums = false;  ///< sums of FP8 may have the few bits that tensor cores of Hopper keep
  Epilogue epilogue = {};
  bool batched = false;  ///< the kernel computes several products, and takes a parameter of type Batched
  bool grouped = false;  ///< the products are groups, and the parameter is of type Grouped; `batched` is true too
  bool masked = false;   ///< groups have matrices of their own, of whose rows they have as many as a count says
  bool along_k = false;  ///< groups divide k, and have a C and a D of their own
  /// A, B, C and D are arrays with the address of the matrix of each product; `batched` is true too.
  bool pointers = false;

  friend constexpr bool operator==(const GemmTraits&, const GemmTraits&) = default;

  /// True if the groups have rows of one A, C and D.
  constexpr bool divides_rows() const { return grouped && !masked && !along_k; }
  /// True if a kernel reads how many rows its groups have.
  constexpr bool counts_rows() const { return grouped && !along_k; }
  /// True if A, B, C and D have one type.
  constexpr bool is_uniform() const { return element_b == element && element_d == element; }
  /// True if the kernel has an epilogue, and takes a parameter of type Fused unless it is batched. One with
  /// extras takes one of type WithExtras.
  constexpr bool is_fused() const { return epilogue != Epilogue{}; }
  /// True if A is stored with k contiguous (row-major m×k, read as stored).
  constexpr bool a_is_k_major() const { return op_a == Op::n; }
  /// True if B is stored with k contiguous (row-major n×k, transposed).
  constexpr bool b_is_k_major() const { return op_b == Op::t; }
};

/// The registers that `wgmma` needs for the operations of an epilogue, beside those of the bare product; `mma`, whose
/// limit leaves more of them, needs half as many. With fewer, kernels spill hundreds of bytes. Matrices of
/// 16-bit elements are loaded in pairs; those of 32-bit elements take the most registers.
constexpr int epilogue_registers(const GemmTraits& t) {
  Epilogue e = t.epilogue;
  if (e.has_block_scales()) e.scale_a = e.scale_b = Scaling::none;  // the sums have them already
  if (e == Epilogue{}) return 0;
  int registers = 16;
  if (e.scale_a == Scaling::vector) registers += 4;
  if (e.scale_b == Scaling::vector) registers += 4;
  registers += 8 * e.matrices_read();
  if (e.has_function()) registers += 16;
  if (e.is_gated()) registers += 8;
  if ((e.matrices_read() > 0 || (e.aux && !e.bits)) && size_bytes(t.element_d) == 4) registers += 48;
  if (e.bits) registers += 4;
  if (e.bias_gradient != Bias::none) registers += 8;
  return registers;
}

/// True if elements of these types, of other than 16 bits, have products by tensor cores, with such sums and such a D.
constexpr bool has_word_types(const GemmTraits& t) {
  if (t.element == DType::s8) {
    return t.element_b == DType::s8 && t.accumulator == DType::s32 &&
           (is_wide_float(t.element_d) || is_integer(t.element_d));
  }
  if (t.accumulator != DType::f32) return false;
  if (t.element == DType::tf32) return t.element_b == DType::tf32 && t.element_d == DType::f32;
  if (!is_fp8(t.element) || !is_fp8(t.element_b)) return false;
  // As for cuBLAS, D has the range of e5m2 only if A or B has.
  const bool has_range = t.element_d == DType::e4m3 || t.element == DType::e5m2 || t.element_b == DType::e5m2;
  return is_wide_float(t.element_d) || (is_fp8(t.element_d) && has_range);
}

}  // namespace hotgemm
