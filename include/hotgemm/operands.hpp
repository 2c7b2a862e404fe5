#pragma once

#include <hotgemm/gemm_types.hpp>

#include <cstddef>
#include <cstdint>

namespace hotgemm {

/// The addresses and strides of one call's operands. Leading dimensions are in elements of the matrices as stored.
///
/// Set what a call needs by name: `{.a = a, .b = b, .d = d, .lda = k, .ldb = n, .ldd = n}`. C may be null when beta is
/// zero, A and B when alpha or k is zero. D may be C itself with ldc == ldd; otherwise it overlaps with none of A, B
/// and C. The library does not check that. A prepacked operand has PrepackedSize::ld.
///
/// The struct grows at its end only, and `size` tells the library how much of it the caller knows. A caller that was
/// compiled with an older header passes a smaller size: the missing fields have their defaults. A caller with a newer
/// header gets Error{not_supported} if a field that this library does not know is not zero. The C ABI has the same
/// struct with the same rule. (Setters would need a function per field in that ABI, and a call would no longer be one
/// expression.) So every new field goes to the end, is plain data, and means "not used" when all its bytes are zero.
///
/// If a field is set that no kernel of this GPU can use, the call throws Error{not_supported} that names the field.
struct Operands {
  std::size_t size = sizeof(Operands);  ///< do not change it: the size of this struct when the caller was compiled

  const void* a = nullptr;  ///< m×k, or with Op::t k×m
  const void* b = nullptr;  ///< k×n, or with Op::t n×k
  const void* c = nullptr;  ///< m×n
  void* d = nullptr;        ///< m×n, or with a gate m×n/2; written
  std::int64_t lda = 0;     ///< elements from one row of A as stored to the next
  std::int64_t ldb = 0;     ///< the same of B
  std::int64_t ldc = 0;     ///< the same of C
  std::int64_t ldd = 0;     ///< the same of D
  float alpha = 1.0f;       ///< factor of the product
  float beta = 0.0f;        ///< factor of C

  /// The scalars in device memory, for Epilogue::scalars; the kernel reads them when it runs. If one is not null, the
  /// library ignores `alpha` or `beta` respectively. A and B are read for every value at `alpha_device`, and C for
  /// every value at `beta_device`.
  const float* alpha_device = nullptr;
  const float* beta_device = nullptr;  ///< as alpha_device

  /// For a batch with equal distances: the number of elements from one matrix to the next, at least 0. A
  /// distance of 0 gives all products the same matrix; matrices that are only read may have it. The matrices of D, and
  /// those of the auxiliary output, do not overlap: they lie behind each other, or side by side in the rows of a wide
  /// matrix. A matrix that may be D may be the D of the same product, and then has its distance; it overlaps with no
  /// other D. Distances are ignored if the batch is 1.
  std::int64_t batch_stride_a = 0;
  std::int64_t batch_stride_b = 0;  ///< as batch_stride_a
  std::int64_t batch_stride_c = 0;  ///< as batch_stride_a
  std::int64_t batch_stride_d = 0;  ///< as batch_stride_a
  /// For a batch by pointers: arrays in device memory with the address of each matrix. In this case `a`, `b`, `c` and
  /// `d` are null. The kernel reads the arrays when it runs, so that a captured graph may be replayed with others; the
  /// fields batch_align_… promise how matrices are aligned. Products may share matrices of A, B and C. Those of D do
  /// not overlap, and one of C may be the D of the same product. The residual and the auxiliary output have an address
  /// and a distance, as in any batch.
  const void* const* batch_a = nullptr;
  const void* const* batch_b = nullptr;  ///< as batch_a
  const void* const* batch_c = nullptr;  ///< as batch_a
  void* const* batch_d = nullptr;        ///< as batch_a

  /// Operands of the epilogue, in device memory. Those that the problem's epilogue has must be set, and no others. None
  /// may overlap with D or with the auxiliary output, but a matrix that is read (the residual, the auxiliary matrix of
  /// a derivative, an operand of a function) may be D itself with the leading dimension of D. A bias has the type of D;
  /// bf16 for an FP8 D, and f32 for an s8 D.
  const void* bias = nullptr;              ///< an element for each of the n columns of op(B), or each row of D
  const void* residual = nullptr;          ///< of D's size and type, added to the result
  std::int64_t ld_residual = 0;            ///< elements from one row of the residual to the next
  std::int64_t batch_stride_residual = 0;  ///< as batch_stride_a
  /// m×n, of D's type, the value before the activation: Epilogue::aux writes it, for the backward pass, and a
  /// derivative reads it. With Epilogue::bits it has one bit for each element instead: 1 if the value before ReLU is
  /// 0 or more, column c of a row in bit c % 8 of byte c / 8. Then its address is a multiple of 16 bytes,
  /// `ld_auxiliary` and `batch_stride_auxiliary` count bits and are multiples of 128. Rows, the last one too, have
  /// whole words of 4 bytes; bits behind the last column, in its byte, may be written.
  void* auxiliary = nullptr;
  std::int64_t ld_auxiliary = 0;            ///< elements from one row of the auxiliary matrix to the next
  std::int64_t batch_stride_auxiliary = 0;  ///< as batch_stride_a
  const float* scale_a = nullptr;  ///< one factor, or one for each of the m rows of op(A), or for blocks: ld_scale_a
  const float* scale_b = nullptr;  ///< one factor, or one for each of the n columns of op(B), or for blocks: ld_scale_b
  const float* scale_d = nullptr;  ///< one factor, by which the result is multiplied before it is rounded to D's type

  /// Device memory that the kernel may write to: at least Plan::workspace_bytes(), at a multiple of 256 bytes. It need
  /// not be cleared. No other call may use it until this one has ended. Null: the library provides it; see Plan.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;  ///< of `workspace`

  /// For groups of rows, in device memory: `groups` + 1 numbers that do not decrease, from 0 on. Rows group_offsets[g]
  /// to group_offsets[g + 1] - 1 of A, C, D, residual, auxiliary output and vectors over rows are those of group g,
  /// which may be none. Rows behind the last group are not written. Matrix g of B begins g * batch_stride_b elements
  /// behind `b`; the other distances are zero. Kernels read the numbers when they run, so that a captured graph may be
  /// replayed with others. Numbers beyond m count as m.
  ///
  /// For groups along k, the same of k: group g multiplies columns group_offsets[g] to group_offsets[g + 1] - 1 of
  /// op(A) with these rows of op(B), and its C and D lie batch_stride_c and batch_stride_d elements behind those of the
  /// group before. If it has none, D is beta * C. Numbers beyond k count as k.
  const std::int32_t* group_offsets = nullptr;

  /// The operands of Epilogue::function in the order of its source, in device memory: one f32, one for each row or
  /// column of D, or an m×n matrix of D's type. Products share those that are no matrices as scale_a and scale_b. None
  /// may overlap with D or with the auxiliary output.
  const void* function_operands[EpilogueFunction::kMostOperands] = {};

  float clamp_low = 0.0f;   ///< the least value of Activation::clamp
  float clamp_high = 0.0f;  ///< its largest value, above `clamp_low`
  /// One f32 in device memory, of Epilogue::amax. It becomes the larger one of what it is, which is not negative, and
  /// of the absolute values of all elements before scale_d; NaN if one of them is NaN. So set it to 0 before the call.
  float* amax = nullptr;

  /// The elements from one row to the next of function_operands that are matrices.
  std::int64_t ld_function_operands[EpilogueFunction::kMostOperands] = {};
  std::int64_t batch_stride_function_operands[EpilogueFunction::kMostOperands] = {};  ///< as batch_stride_a

  /// For masked groups, in device memory: how many of the m rows each group has. Matrices lie as those of a batch with
  /// equal distances, and vectors over rows have m elements for each group. Rows behind a count are not written. Counts
  /// beyond m count as m, and negative ones as 0.
  const std::int32_t* group_counts = nullptr;
  /// The elements from the bias of a group to that of the next one, for groups whose bias has an element for each
  /// column, and for groups along k. 0: they share one.
  std::int64_t batch_stride_bias = 0;

  /// For a batch by pointers: the bytes that divide each address in the array, 1, 2, 4, 8 or 16; 0: 16. A call whose
  /// addresses break the promise fails as any access that is not aligned does.
  std::int16_t batch_align_a = 0;
  std::int16_t batch_align_b = 0;  ///< as batch_align_a
  std::int16_t batch_align_c = 0;  ///< as batch_align_a
  std::int16_t batch_align_d = 0;  ///< as batch_align_a

  /// For Scaling::block_1x128 and block_128x128. The factor of elements 128 * i to 128 * i + 127 of row r of op(A) is
  /// scale_a[i * ld_scale_a + r]; ld_scale_a is at least m. That of the same rows of op(B) in columns 128 * j to
  /// 128 * j + 127 is scale_b[j * ld_scale_b + i]; ld_scale_b is at least ceil(k / 128). In a batch and in groups, the
  /// factors of matrix p of A begin p * ceil(k / 128) * ld_scale_a numbers behind `scale_a`, those of matrix p of B
  /// p * ceil(n / 128) * ld_scale_b behind `scale_b`. A matrix that products share has one set. Groups of rows have one
  /// A; groups along k have one A and one B, and each the blocks from number offset / 128 on.
  std::int64_t ld_scale_a = 0;
  std::int64_t ld_scale_b = 0;  ///< as ld_scale_a

  /// The gradient of Epilogue::bias_gradient: a number in f32 for each column of D, or for each row, in device memory.
  /// A call adds to it the sum over that column, or row, of the elements before scale_d. Set the numbers to 0 before
  /// the call, or keep them over several. All products of a batch share them. They may not overlap with another
  /// operand.
  float* bias_gradient = nullptr;
};

}  // namespace hotgemm
