// The hints of a call, read off its operands.

#include "config/element_size.hpp"
#include "config/tensor_map_spec.hpp"
#include "config/work.hpp"
#include "runtime/validate.hpp"
#include "runtime/validate_batch.hpp"

#include <bit>
#include <cstdint>

namespace hotgemm {
namespace {

/// The largest power of two, 16 at most, that divides all bits of `bits`.
int alignment_of(std::uint64_t bits) { return 1 << std::countr_zero(bits | 16); }

// The result is unsigned, because the leading dimension may not have been checked yet: a product of signed numbers
// could overflow.
std::uint64_t pitch_bytes(std::int64_t ld, DType dtype) {
  return static_cast<std::uint64_t>(ld) * static_cast<std::uint64_t>(element_size(dtype));
}

/// The bytes below which tensor maps can have rows of A and B apart.
std::uint64_t most_pitch(const Problem& p) {
  return p.group_kind == GroupKind::along_k ? kMaxRaggedStride : kMaxTensorStride;
}

/// The bits that an alignment class must divide. Rows that are too far apart for a tensor map, `most` bytes or more,
/// count as aligned to 8 bytes. Kernels that copy by tensor map need an alignment of 16, so another kernel is chosen.
std::uint64_t alignment_bits(const void* pointer, std::int64_t ld, DType dtype, std::uint64_t most = kMaxTensorStride) {
  const std::uint64_t pitch = pitch_bytes(ld, dtype);
  return reinterpret_cast<std::uintptr_t>(pointer) | pitch | (pitch >= most ? 8 : 0);
}

/// The bits of the matrices that the function of the epilogue reads, with their distances.
std::uint64_t bits_of_function(const Problem& p, const Operands& o) {
  std::uint64_t bits = 0;
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (p.epilogue.function.operand(i) != FunctionOperand::matrix) continue;
    bits |= alignment_bits(o.function_operands[i], o.ld_function_operands[i], p.types.d);
    if (p.batch != 1 || p.groups != 0) bits |= alignment_bits(nullptr, o.batch_stride_function_operands[i], p.types.d);
  }
  return bits;
}

}  // namespace

bool exceeds_tensor_maps(const Problem& p, const Operands& o) {
  const auto is_too_far = [](std::int64_t ld, DType dtype) { return pitch_bytes(ld, dtype) >= kMaxTensorStride; };
  const bool is_c_read = reads_c(o);
  const bool has_far_rows = pitch_bytes(o.lda, p.types.a) >= most_pitch(p) ||
                            pitch_bytes(o.ldb, p.types.b) >= most_pitch(p) || is_too_far(o.ldd, p.types.d) ||
                            (is_c_read && is_too_far(o.ldc, p.types.c));
  if (has_far_rows || is_one_product(p)) return has_far_rows;
  return is_too_far(o.batch_stride_a, p.types.a) || is_too_far(o.batch_stride_b, p.types.b) ||
         is_too_far(o.batch_stride_d, p.types.d) || (is_c_read && is_too_far(o.batch_stride_c, p.types.c));
}

Hints hints_of(const Problem& p, const Operands& o) {
  const Types& types = p.types;
  const bool is_c_read = reads_c(o);
  const std::uint64_t most = most_pitch(p);
  const bool has_pointers = p.batch_kind == BatchKind::pointers;
  const auto bits = [&](const void* pointer, std::int16_t promise, std::int64_t ld, DType type, std::uint64_t limit) {
    return alignment_bits(pointer, ld, type, limit) |
           (has_pointers ? static_cast<unsigned>(promised_alignment(promise)) : 0u);
  };
  std::uint64_t a_bits = bits(o.a, o.batch_align_a, o.lda, types.a, most);
  std::uint64_t b_bits = bits(o.b, o.batch_align_b, o.ldb, types.b, most);
  std::uint64_t d_bits = bits(o.d, o.batch_align_d, o.ldd, types.d, kMaxTensorStride);
  if (is_c_read) d_bits |= bits(o.c, o.batch_align_c, o.ldc, types.c, kMaxTensorStride);
  if (o.residual != nullptr) d_bits |= alignment_bits(o.residual, o.ld_residual, types.d);
  const bool has_matrix = o.auxiliary != nullptr && !p.epilogue.bits;
  if (has_matrix) d_bits |= alignment_bits(o.auxiliary, o.ld_auxiliary, types.d);
  if (p.batch != 1 || p.groups != 0) {
    a_bits |= alignment_bits(nullptr, o.batch_stride_a, types.a);
    b_bits |= alignment_bits(nullptr, o.batch_stride_b, types.b);
    d_bits |= alignment_bits(nullptr, o.batch_stride_d, types.d);
    if (is_c_read) d_bits |= alignment_bits(nullptr, o.batch_stride_c, types.c);
    d_bits |= alignment_bits(nullptr, o.batch_stride_residual, types.d);
    if (has_matrix) d_bits |= alignment_bits(nullptr, o.batch_stride_auxiliary, types.d);
  }
  if (p.epilogue.has_function()) d_bits |= bits_of_function(p, o);
  return {.align_a = alignment_of(a_bits),
          .align_b = alignment_of(b_bits),
          .align_d = alignment_of(d_bits),
          .beta_is_zero = !is_c_read};
}

Workload describe(const Problem& problem, const Operands& operands) { return {problem, hints_of(problem, operands)}; }

}  // namespace hotgemm
