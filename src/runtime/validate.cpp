#include "runtime/validate.hpp"

#include "config/max_size.hpp"
#include "config/tensor_map_spec.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace hotgemm {
namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

void validate_size(const char* name, std::int64_t value) {
  if (value < 0) bad(std::string(name) + " is negative: " + std::to_string(value));
  if (value > kMaxSize) {
    bad(std::string(name) + " is " + std::to_string(value) + "; at most " + std::to_string(kMaxSize) + " is possible");
  }
}

// An enumerator can be anything that was cast to it.
void validate_op(const char* name, Op op) {
  if (op != Op::n && op != Op::t) {
    bad("op " + std::string(name) + " is " + std::to_string(static_cast<int>(op)) + "; it is Op::n or Op::t");
  }
}

void validate_type(const char* name, DType type) {
  if (type != DType::f16 && type != DType::bf16 && type != DType::f32) {
    bad("the " + std::string(name) + " type is " + std::to_string(static_cast<int>(type)) +
        "; it is DType::f16, bf16 or f32");
  }
}

void validate_alignment(const char* name, int bytes, DType dtype) {
  if (!std::has_single_bit(static_cast<unsigned>(bytes)) || bytes > 16 || bytes < size_bytes(dtype)) {
    bad("the alignment class of " + std::string(name) + " is " + std::to_string(bytes) + " bytes; it is one of " +
        (dtype == DType::f32 ? "4, 8, 16" : "2, 4, 8, 16"));
  }
}

/// A matrix of an operation, as stored.
struct Extent {
  std::int64_t rows;
  std::int64_t cols;
};
Extent extent_of_a(const Problem& p) { return p.op_a == Op::n ? Extent{p.m, p.k} : Extent{p.k, p.m}; }
Extent extent_of_b(const Problem& p) { return p.op_b == Op::n ? Extent{p.k, p.n} : Extent{p.n, p.k}; }
Extent extent_of_d(const Problem& p) { return {p.m, p.n}; }

/// Kernels form byte offsets of up to kMaxTileExtent rows beyond the last one, before they compare with the edge.
void validate_span(const char* name, const void* pointer, std::int64_t ld, Extent extent, DType dtype) {
  const auto fail = [&](const std::string& why) {
    bad("ld" + std::string(name) + " is " + std::to_string(ld) + " and " + name + " has " +
        std::to_string(extent.rows) + " rows; " + why);
  };
  const std::int64_t bytes = size_bytes(dtype);
  std::int64_t most = 0;
  if (__builtin_mul_overflow(ld, (extent.rows + kMaxTileExtent) * bytes, &most)) {
    fail("byte offsets of rows, up to " + std::to_string(kMaxTileExtent) + " beyond the last, must be below 2^63");
  }
  if (extent.rows == 0 || extent.cols == 0) return;
  const auto span = static_cast<std::uint64_t>(((extent.rows - 1) * ld + extent.cols) * bytes);
  if (reinterpret_cast<std::uintptr_t>(pointer) > std::numeric_limits<std::uint64_t>::max() - span) {
    fail("its end is beyond the last address");
  }
}

void validate_matrix(const char* name, const void* pointer, std::int64_t ld, Extent extent, DType dtype,
                     bool is_needed) {
  const std::int64_t cols = extent.cols;
  const std::int64_t least = std::max<std::int64_t>(cols, 1);
  if (ld < least) {
    bad("ld" + std::string(name) + " is " + std::to_string(ld) + "; rows of " + std::to_string(cols) +
        " elements need at least " + std::to_string(least));
  }
  validate_span(name, pointer, ld, extent, dtype);
  if (is_needed && pointer == nullptr) bad(std::string(name) + " is null");
}

void validate_element_alignment(const char* name, const void* pointer, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(size_bytes(dtype)) != 0) {
    bad(std::string(name) + " is not aligned to its element type");
  }
}

/// The largest power of two, 16 at most, that divides all bits of `bits`.
int alignment_of(std::uint64_t bits) { return 1 << std::countr_zero(bits | 16); }

// Unsigned: nobody may have checked the leading dimension yet.
std::uint64_t pitch_bytes(std::int64_t ld, DType dtype) {
  return static_cast<std::uint64_t>(ld) * static_cast<std::uint64_t>(size_bytes(dtype));
}

/// The bits that an alignment class must divide. Rows that are too far apart for a tensor map count as aligned to
/// 8 bytes: the kernels that copy by tensor take operands aligned to 16, so another one is chosen.
std::uint64_t alignment_bits(const void* pointer, std::int64_t ld, DType dtype) {
  const std::uint64_t pitch = pitch_bytes(ld, dtype);
  return reinterpret_cast<std::uintptr_t>(pointer) | pitch | (pitch >= kMaxTensorStride ? 8 : 0);
}

}  // namespace

bool exceeds_tensor_maps(const Problem& p, const Operands& o) {
  const auto is_too_far = [&](std::int64_t ld) { return pitch_bytes(ld, p.dtype) >= kMaxTensorStride; };
  return is_too_far(o.lda) || is_too_far(o.ldb) || is_too_far(o.ldd) || (o.beta != 0 && is_too_far(o.ldc));
}

void validate(const Problem& p) {
  validate_size("m", p.m);
  validate_size("n", p.n);
  validate_size("k", p.k);
  validate_op("A", p.op_a);
  validate_op("B", p.op_b);
  validate_type("element", p.dtype);
  validate_type("accumulator", p.accumulator);
  const bool f16_sum = p.accumulator == DType::f16;
  if (p.accumulator == DType::bf16 || (f16_sum && p.dtype != DType::f16)) {
    throw Error(ErrorCode::not_supported, std::string(to_string(p.dtype)) + " elements cannot be accumulated in " +
                                              std::string(to_string(p.accumulator)));
  }
  validate_alignment("A", p.align_a, p.dtype);
  validate_alignment("B", p.align_b, p.dtype);
  validate_alignment("D", p.align_d, p.dtype);
}

void validate(const Problem& p, const Operands& o) {
  if (p.m == 0 || p.n == 0) {  // nothing is read or written; leading dimensions are checked all the same
    validate_matrix("a", o.a, o.lda, extent_of_a(p), p.dtype, false);
    validate_matrix("b", o.b, o.ldb, extent_of_b(p), p.dtype, false);
    validate_matrix("d", o.d, o.ldd, extent_of_d(p), p.dtype, false);
    return;
  }
  const bool has_product = p.k != 0 && o.alpha != 0;
  validate_matrix("a", o.a, o.lda, extent_of_a(p), p.dtype, has_product);
  validate_matrix("b", o.b, o.ldb, extent_of_b(p), p.dtype, has_product);
  if (o.beta != 0) validate_matrix("c", o.c, o.ldc, extent_of_d(p), p.dtype, true);
  validate_matrix("d", o.d, o.ldd, extent_of_d(p), p.dtype, true);
  validate_element_alignment("a", o.a, p.dtype);
  validate_element_alignment("b", o.b, p.dtype);
  if (o.beta != 0) validate_element_alignment("c", o.c, p.dtype);
  validate_element_alignment("d", o.d, p.dtype);
  if (o.beta != 0 && o.c == o.d && o.ldc != o.ldd) {
    bad("C and D are the same matrix with different leading dimensions: ldc " + std::to_string(o.ldc) + ", ldd " +
        std::to_string(o.ldd));
  }
}

Problem describe(const Problem& problem, const Operands& o) {
  Problem described = problem;
  const bool reads_c = o.beta != 0;
  const std::uint64_t c_bits = reads_c ? alignment_bits(o.c, o.ldc, problem.dtype) : 0;
  described.align_a = alignment_of(alignment_bits(o.a, o.lda, problem.dtype));
  described.align_b = alignment_of(alignment_bits(o.b, o.ldb, problem.dtype));
  described.align_d = alignment_of(alignment_bits(o.d, o.ldd, problem.dtype) | c_bits);
  described.beta_is_zero = !reads_c;
  return described;
}

}  // namespace hotgemm
