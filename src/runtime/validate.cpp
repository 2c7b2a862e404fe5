#include "runtime/validate.hpp"

#include "base/refuse.hpp"
#include "config/element_size.hpp"
#include "config/function_source.hpp"
#include "config/max_size.hpp"
#include "config/prepacked.hpp"
#include "config/problem_enums.hpp"
#include "config/sm_limit.hpp"
#include "config/supported.hpp"
#include "config/tensor_map_spec.hpp"
#include "config/work.hpp"
#include "runtime/validate_batch.hpp"
#include "runtime/validate_operands.hpp"

#include <hotgemm/context.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hotgemm {
namespace {

void validate_size(const char* name, std::int64_t value) {
  if (value < 0) refuse(std::string(name) + " is negative: " + std::to_string(value));
  if (value > kMaxSize) {
    refuse(std::string(name) + " is " + std::to_string(value) + "; at most " + std::to_string(kMaxSize) +
           " is possible");
  }
}

// A caller may have cast any number to an enumeration.
template <class Enum>
void validate_enum(const char* name, Enum value) {
  if (!is_enumerator(value)) {
    refuse(std::string(name) + " is " + std::to_string(static_cast<int>(value)) + ", which is not an enumerator");
  }
}

void validate_types(const Types& t) {
  validate_enum("the type of A", t.a);
  validate_enum("the type of B", t.b);
  validate_enum("the type of C", t.c);
  validate_enum("the type of D", t.d);
  validate_enum("the compute type", t.compute);
  validate_enum("the compute mode", t.mode);
}

void validate_epilogue(const Problem& p) {
  const Epilogue& e = p.epilogue;
  validate_enum("the scaling of A", e.scale_a);
  validate_enum("the scaling of B", e.scale_b);
  validate_enum("the bias", e.bias);
  validate_enum("the activation", e.activation);
  validate_enum("the gate", e.gate);
  validate_enum("the gradient of a bias", e.bias_gradient);
  if (e.is_gated() && p.n % 2 != 0) {
    refuse("n is " + std::to_string(p.n) +
           "; the product of a gated epilogue has an even number of columns, two for each " + "of D");
  }
  if (!is_well_formed(e.function)) {
    refuse("the function of the epilogue, " + to_string(e.function) + ", is none that Context::add_function makes");
  }
  if (e.has_function() && e.activation != Activation::none) {
    refuse("the epilogue has the activation " + std::string(to_string(e.activation)) +
           " and a function, which stands in its place");
  }
  if (e.aux && e.reads_auxiliary()) {
    refuse("the epilogue has aux, which writes the auxiliary matrix, and " + std::string(to_string(e.activation)) +
           ", which reads it");
  }
  if (e.bits && e.activation != (e.aux ? Activation::relu : Activation::drelu)) {
    refuse("the epilogue has bits with " + std::string(e.aux ? "aux and " : "") + std::string(to_string(e.activation)) +
           "; an auxiliary matrix of bits is written with aux and relu, and read by drelu");
  }
}

void validate_counts(const Problem& p) {
  if (p.sm_limit < 0 || p.sm_limit > kMostSms)
    refuse("sm_limit is " + std::to_string(p.sm_limit) + "; it is at most " + std::to_string(kMostSms) +
           ", or 0 for all SMs");
  validate_size("batch", p.batch);
  validate_size("groups", p.groups);
  if ((p.groups != 0) != (p.group_kind != GroupKind::none))
    refuse("groups is " + std::to_string(p.groups) + ", and group_kind " + std::string(to_string(p.group_kind)) +
           "; a problem has both or neither");
}

void validate_alignment(const char* name, int bytes, DType dtype) {
  if (bytes < 1 || !std::has_single_bit(static_cast<unsigned>(bytes)) || bytes > 16 || bytes < element_size(dtype)) {
    refuse("the alignment class of " + std::string(name) + " is " + std::to_string(bytes) + " bytes; it is one of " +
           "1, 2, 4, 8, 16, and at least " + std::to_string(element_size(dtype)));
  }
}

void validate_prepacked_alignment(const char* name, int bytes) {
  if (bytes == kPrepackedAlignment) return;
  refuse("the alignment class of " + std::string(name) + " is " + std::to_string(bytes) +
         " bytes; that of a prepacked " + "operand is " + std::to_string(kPrepackedAlignment));
}

/// A matrix of an operation, as stored.
struct Extent {
  std::int64_t rows;
  std::int64_t cols;
};
Extent extent_of_a(const Problem& p) { return p.op_a == Op::n ? Extent{p.m, p.k} : Extent{p.k, p.m}; }
Extent extent_of_b(const Problem& p) { return p.op_b == Op::n ? Extent{p.k, p.n} : Extent{p.n, p.k}; }
Extent extent_of_d(const Problem& p) { return {p.m, columns_of_d(p)}; }

/// A kernel computes byte offsets of up to kMaxTileExtent rows beyond the last row, before it compares with the edge.
void validate_span(const char* name, const void* pointer, std::int64_t ld, Extent extent, DType dtype) {
  const auto fail = [&](const std::string& why) {
    refuse("ld" + std::string(name) + " is " + std::to_string(ld) + " and " + (name[0] == '_' ? name + 1 : name) +
           " has " + std::to_string(extent.rows) + " rows; " + why);
  };
  const std::int64_t bytes = element_size(dtype);
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
    refuse("ld" + std::string(name) + " is " + std::to_string(ld) + "; rows of " + std::to_string(cols) +
           " elements need at least " + std::to_string(least));
  }
  validate_span(name, pointer, ld, extent, dtype);
  if (is_needed && pointer == nullptr) refuse(std::string(name) + " is null");
}

void validate_element_alignment(const char* name, const void* pointer, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(element_size(dtype)) != 0) {
    refuse(std::string(name) + " is not aligned to its element type");
  }
}

/// Throws if the operand is not as Context::pack makes it. Its contents cannot be checked.
void validate_prepacked(const char* name, const void* pointer, std::int64_t ld, const StoredShape& shape) {
  const std::int64_t right = prepacked_size(shape).ld;
  if (ld != right) {
    refuse("ld" + std::string(name) + " is " + std::to_string(ld) + "; prepacked rows of " +
           std::to_string(shape.cols) + " elements are " + std::to_string(right) + " apart: see prepacked_size");
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % kPrepackedAlignment != 0) {
    refuse(std::string(name) + " is prepacked and not at a multiple of " + std::to_string(kPrepackedAlignment) +
           " bytes: see Context::pack");
  }
}

/// True only for a matrix that passes all checks: its leading dimension is so small and its address so low that no
/// offset can overflow. Nearly all matrices of real calls are plain.
bool is_plain(const void* pointer, std::int64_t ld, Extent extent, DType dtype) {
  constexpr std::int64_t kMaxLd = std::int64_t{1} << 27;
  constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 62;
  constexpr std::int64_t kMostElementBytes = 8;
  static_assert(kMaxSize + kMaxTileExtent <= (std::int64_t{1} << 62) / (kMaxLd * kMostElementBytes));
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto in_element = address & (static_cast<std::uintptr_t>(element_size(dtype)) - 1);
  return address - 1 < kMaxAddress && in_element == 0 && ld > 0 && ld >= extent.cols && ld <= kMaxLd;
}

/// Throws if a vector or a scalar of the epilogue is missing or not aligned.
void validate_vector(const char* name, const void* pointer, DType dtype, bool is_needed) {
  if (is_needed && pointer == nullptr) refuse(std::string(name) + " is null; the problem's epilogue needs it");
  validate_element_alignment(name, pointer, dtype);
}

/// Throws if a matrix of the epilogue, of D's type, is missing, not aligned, or too narrow.
void validate_beside_d(const char* underscore_name, const void* pointer, std::int64_t ld, const Problem& p,
                       Extent extent) {
  validate_vector(underscore_name + 1, pointer, p.types.d, !is_empty(p));
  validate_matrix(underscore_name, pointer, ld, extent, p.types.d, false);
}

/// Checks a matrix of D's size that is read, and may be D.
void validate_read(const char* underscore_name, const void* pointer, std::int64_t ld, const Problem& p,
                   const Operands& o) {
  validate_beside_d(underscore_name, pointer, ld, p, extent_of_d(p));
  if (is_empty(p) || pointer != o.d || ld == o.ldd) return;
  refuse(fmt::format("{0} and D are the same matrix with different leading dimensions: ld{1} {2}, ldd {3}",
                     underscore_name + 1, underscore_name, ld, o.ldd));
}

/// Throws if the matrix of bits is missing, too narrow, or not where kernels access whole words of it.
void validate_bits(const Problem& p, const Operands& o) {
  if (!is_empty(p) && o.auxiliary == nullptr) refuse("auxiliary is null; the problem's epilogue needs it");
  if (reinterpret_cast<std::uintptr_t>(o.auxiliary) % (kBitRowUnit / 8) != 0)
    refuse(fmt::format("auxiliary is not at a multiple of {} bytes, and is a matrix of bits", kBitRowUnit / 8));
  // As for cuBLASLt, rows begin at multiples of 16 bytes.
  if (o.ld_auxiliary % kBitRowUnit != 0) {
    refuse(fmt::format("ld_auxiliary is {}; that of a matrix of bits counts bits, and is a multiple of {}",
                       o.ld_auxiliary, kBitRowUnit));
  }
  validate_matrix("_auxiliary", o.auxiliary, o.ld_auxiliary, extent_of_d(p), DType::e4m3, false);
}

/// The operands that the problem's epilogue has. validate_fields refuses the others.
void validate_epilogue_operands(const Problem& p, const Operands& o) {
  require_no_c_with_gate(p, reads_c(o));
  const Epilogue& e = p.epilogue;
  const bool has_no_d = is_empty(p);
  if (e.scalars && o.alpha_device == nullptr && o.beta_device == nullptr)
    refuse("alpha_device and beta_device are null; the problem's epilogue has scalars in device memory");
  validate_element_alignment("alpha_device", o.alpha_device, DType::f32);
  validate_element_alignment("beta_device", o.beta_device, DType::f32);
  const bool has_scales = !has_no_d && !(e.has_block_scales() && p.k == 0);
  if (e.scale_a != Scaling::none) validate_vector("scale_a", o.scale_a, DType::f32, has_scales);
  if (e.scale_b != Scaling::none) validate_vector("scale_b", o.scale_b, DType::f32, has_scales);
  if (e.has_block_scales()) {
    const std::int64_t blocks = scale_blocks(p.k);
    validate_matrix("_scale_a", o.scale_a, o.ld_scale_a, {blocks * scaled_a(p), p.m}, DType::f32, false);
    validate_matrix("_scale_b", o.scale_b, o.ld_scale_b, {scale_blocks(p.n) * scaled_b(p), blocks}, DType::f32, false);
  }
  if (e.scale_d) validate_vector("scale_d", o.scale_d, DType::f32, !has_no_d);
  if (e.bias != Bias::none) validate_vector("bias", o.bias, bias_type(p.types.d), !has_no_d);
  constexpr const char* kOfFunction[EpilogueFunction::kMostOperands] = {
      "_function_operands[0]", "_function_operands[1]", "_function_operands[2]", "_function_operands[3]"};
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = e.function.operand(i);
    if (kind == FunctionOperand::none) break;
    if (kind == FunctionOperand::matrix) {
      validate_read(kOfFunction[i], o.function_operands[i], o.ld_function_operands[i], p, o);
    } else {
      validate_vector(kOfFunction[i] + 1, o.function_operands[i], DType::f32, !has_no_d);
    }
  }
  if (e.has_clamp() && !(o.clamp_low < o.clamp_high)) {
    refuse("clamp_low is " + std::to_string(o.clamp_low) + " and clamp_high " + std::to_string(o.clamp_high) +
           "; the low limit is below the high one");
  }
  if (e.amax) validate_vector("amax", o.amax, DType::f32, !has_no_d);
  if (e.bias_gradient != Bias::none) validate_vector("bias_gradient", o.bias_gradient, DType::f32, !has_no_d);
  if (e.bits) {
    validate_bits(p, o);
  } else {
    if (e.aux)
      validate_beside_d("_auxiliary", o.auxiliary, o.ld_auxiliary, p, {p.m, p.n});  // of both columns of a gate
    if (e.reads_auxiliary()) validate_read("_auxiliary", o.auxiliary, o.ld_auxiliary, p, o);
  }
  if (e.residual) validate_read("_residual", o.residual, o.ld_residual, p, o);
  if (e.aux && !has_no_d && o.auxiliary == o.d) refuse("auxiliary and D are the same matrix");
}

/// alpha and beta of integers: a kernel multiplies by them without rounding.
void validate_whole(const char* name, float factor) {
  constexpr float kMost = 1 << 24;  // each whole number up to it is a float
  if (std::trunc(factor) == factor && std::abs(factor) <= kMost) return;
  refuse(fmt::format("{} is {}; for D of type s32 it is a whole number from -2^24 to 2^24", name, factor));
}

}  // namespace

void validate(const Problem& p) {
  const auto is_size = [](std::int64_t value) { return static_cast<std::uint64_t>(value) <= kMaxSize; };
  // The warm path; the code below finds the reason.
  if (is_size(p.m) && is_size(p.n) && is_size(p.k) && is_supported(p)) return;
  validate_size("m", p.m);
  validate_size("n", p.n);
  validate_size("k", p.k);
  validate_enum("op A", p.op_a);
  validate_enum("op B", p.op_b);
  validate_types(p.types);
  validate_enum("the order of sums", p.order);
  validate_enum("the kind of batch", p.batch_kind);
  validate_enum("the kind of groups", p.group_kind);
  validate_counts(p);
  validate_epilogue(p);
  require_supported(p);
}

void validate(const Workload& w) {
  validate(static_cast<const Problem&>(w));
  validate_alignment("A", w.hints.align_a, w.types.a);
  validate_alignment("B", w.hints.align_b, w.types.b);
  validate_alignment("C", w.hints.align_d, w.types.c);
  validate_alignment("D", w.hints.align_d, w.types.d);
  if (w.prepacked_a) validate_prepacked_alignment("A", w.hints.align_a);
  if (w.prepacked_b) validate_prepacked_alignment("B", w.hints.align_b);
  validate_enum("the workspace class", w.hints.workspace);
  require_no_c_with_gate(w, !w.hints.beta_is_zero);
}

namespace {

/// Checks A, B, C and D of a batch by pointers. The host knows only their leading dimensions.
void validate_rows(const Problem& p, const Operands& o) {
  validate_matrix("a", nullptr, o.lda, extent_of_a(p), p.types.a, false);
  validate_matrix("b", nullptr, o.ldb, extent_of_b(p), p.types.b, false);
  if (reads_c(o)) validate_matrix("c", nullptr, o.ldc, extent_of_d(p), p.types.c, false);
  validate_matrix("d", nullptr, o.ldd, extent_of_d(p), p.types.d, false);
}

/// Checks A, B, C and D of one product.
void validate_matrices(const Problem& p, const Operands& o) {
  if (p.prepacked_a) validate_prepacked("a", o.a, o.lda, stored_shape(p, Operand::a));
  if (p.prepacked_b) validate_prepacked("b", o.b, o.ldb, stored_shape(p, Operand::b));
  if (p.types.d == DType::s32) {
    validate_whole("alpha", o.alpha);
    validate_whole("beta", o.beta);
  }
  if (p.batch_kind == BatchKind::pointers) {
    validate_rows(p, o);
    return validate_pointers(p, o);
  }
  const Extent of_d = extent_of_d(p);
  const bool is_plain_c = !reads_c(o) || (is_plain(o.c, o.ldc, of_d, p.types.c) && (o.c != o.d || o.ldc == o.ldd));
  const bool is_plain_call = is_plain(o.a, o.lda, extent_of_a(p), p.types.a) &&
                             is_plain(o.b, o.ldb, extent_of_b(p), p.types.b) && is_plain(o.d, o.ldd, of_d, p.types.d) &&
                             is_plain_c;
  if (is_plain_call) return;  // the warm path; the code below finds the reason
  if (is_empty(p)) {          // nothing is read or written; leading dimensions are checked all the same
    validate_matrix("a", o.a, o.lda, extent_of_a(p), p.types.a, false);
    validate_matrix("b", o.b, o.ldb, extent_of_b(p), p.types.b, false);
    validate_matrix("d", o.d, o.ldd, extent_of_d(p), p.types.d, false);
    return;
  }
  const bool has_product = p.k != 0 && (o.alpha != 0 || o.alpha_device != nullptr);
  validate_matrix("a", o.a, o.lda, extent_of_a(p), p.types.a, has_product);
  validate_matrix("b", o.b, o.ldb, extent_of_b(p), p.types.b, has_product);
  if (reads_c(o)) validate_matrix("c", o.c, o.ldc, extent_of_d(p), p.types.c, true);
  validate_matrix("d", o.d, o.ldd, extent_of_d(p), p.types.d, true);
  validate_element_alignment("a", o.a, p.types.a);
  validate_element_alignment("b", o.b, p.types.b);
  if (reads_c(o)) validate_element_alignment("c", o.c, p.types.c);
  validate_element_alignment("d", o.d, p.types.d);
  if (reads_c(o) && o.c == o.d && o.ldc != o.ldd) {
    refuse("C and D are the same matrix with different leading dimensions: ldc " + std::to_string(o.ldc) + ", ldd " +
           std::to_string(o.ldd));
  }
}

}  // namespace

void validate(const Problem& p, const Operands& o) {
  validate_fields(p, o);
  if (p.epilogue != Epilogue{}) validate_epilogue_operands(p, o);
  validate_matrices(p, o);
  if (p.batch > 1 && p.batch_kind == BatchKind::strided) validate_batch(p, o);
  if (p.groups > 0) validate_groups(p, o);
}

void validate_operand(const Problem& asked, Operand operand) {
  if (operand > Operand::b)
    refuse("the operand is " + std::to_string(static_cast<int>(operand)) + ", which is not an enumerator");
  Problem packed = asked;
  packed.prepacked_a = operand == Operand::a;
  packed.prepacked_b = operand == Operand::b;
  validate(packed);
}

void validate_packing(const Problem& p, Operand operand, const void* from, std::int64_t ld, const void* to) {
  validate_operand(p, operand);
  const bool is_a = operand == Operand::a;
  const char* name = is_a ? "a" : "b";
  const DType type = is_a ? p.types.a : p.types.b;
  const Extent extent = is_a ? extent_of_a(p) : extent_of_b(p);
  const bool is_empty = extent.rows == 0 || extent.cols == 0;
  validate_matrix(name, from, ld, extent, type, !is_empty);
  validate_element_alignment(name, from, type);
  if (is_empty) return;
  const auto target = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
  if (to == nullptr) refuse("the memory for prepacked " + std::string(name) + " is null");
  if (target % kPrepackedAlignment != 0) {
    refuse("the memory for prepacked " + std::string(name) + " is not at a multiple of " +
           std::to_string(kPrepackedAlignment) + " bytes");
  }
  const std::size_t bytes = prepacked_size(stored_shape(p, operand)).bytes;
  if (target > std::numeric_limits<std::uintptr_t>::max() - bytes)
    refuse("the end of prepacked " + std::string(name) + " is beyond the last address");
  const auto source_bytes = static_cast<std::uint64_t>(((extent.rows - 1) * ld + extent.cols) * element_size(type));
  if (source < target + bytes && target < source + source_bytes) {
    refuse("the memory for prepacked " + std::string(name) + " overlaps " + name);
  }
}

}  // namespace hotgemm
