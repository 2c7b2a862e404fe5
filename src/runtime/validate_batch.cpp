#include "runtime/validate_batch.hpp"

#include "base/refuse.hpp"
#include "config/max_size.hpp"
#include "config/work.hpp"
#include "runtime/validate.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>

namespace hotgemm {
namespace {

/// Checks that the last matrix of an operand has an address. `products` says what there are `batch` of.
void validate_stride(const char* name, const void* pointer, std::int64_t stride, std::int64_t batch, DType dtype,
                     const char* products = "a batch of {}") {
  if (stride < 0) refuse(fmt::format("batch_stride_{} is negative: {}", name, stride));
  std::int64_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(stride, batch, &bytes) || __builtin_mul_overflow(bytes, size_bytes(dtype), &bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (overflows || address > std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(bytes)) {
    refuse(fmt::format("batch_stride_{} is {} with {}; the last matrix is beyond the last address", name, stride,
                       fmt::format(fmt::runtime(products), batch)));
  }
}

/// Checks matrices of `n` columns that are written. They lie behind each other or, within the rows of one wide
/// matrix, side by side.
void validate_written(const char* name, const void* pointer, std::int64_t stride, std::int64_t ld, std::int64_t n,
                      const Problem& p) {
  validate_stride(name, pointer, stride, p.batch, p.types.d);
  if (is_empty(p) || p.batch == 1) return;
  const bool is_behind = stride >= (p.m - 1) * ld + n;
  const bool is_beside = stride >= n && stride <= (ld - n) / (p.batch - 1);
  if (is_behind || is_beside) return;
  refuse(
      fmt::format("matrices overlap: batch_stride_{} is {} for a batch of {} matrices of {}×{} elements with rows {} "
                  "apart",
                  name, stride, p.batch, p.m, n, ld));
}

/// Checks a matrix of D's type that is read. If it is D too, it is the D of the same product.
void validate_read_stride(const char* name, const void* pointer, std::int64_t stride, const Problem& p,
                          const Operands& o) {
  validate_stride(name, pointer, stride, p.batch, p.types.d);
  if (pointer == nullptr || pointer != o.d || stride == o.batch_stride_d || p.batch == 1) return;
  refuse(fmt::format("{0} and d are the same matrix with different distances: batch_stride_{0} {1}, batch_stride_d {2}",
                     name, stride, o.batch_stride_d));
}

/// Checks the address of numbers that say `what`.
void validate_numbers(const char* name, const std::int32_t* numbers, const char* what, const Problem& p) {
  if (numbers == nullptr && !is_empty(p)) refuse(fmt::format("{} is null; the kernel reads from it {}", name, what));
  if (reinterpret_cast<std::uintptr_t>(numbers) % sizeof(std::int32_t) != 0)
    refuse(fmt::format("{} is not at a multiple of 4 bytes", name));
}

/// The array of an operand's addresses.
struct PointerArray {
  const char* name;
  const void* array;
  const void* matrix;  ///< the address of a single matrix, which must not be given
  std::int16_t alignment;
  DType dtype;
  bool is_needed;
};

void validate_array(const PointerArray& of) {
  if (of.matrix != nullptr)
    refuse(
        fmt::format("{0} is set, but the matrices of a batch by pointers are those of the array batch_{0}", of.name));
  if (of.is_needed && of.array == nullptr) refuse(fmt::format("batch_{} is null", of.name));
  if (reinterpret_cast<std::uintptr_t>(of.array) % sizeof(void*) != 0)
    refuse(fmt::format("batch_{} is not at a multiple of {} bytes", of.name, sizeof(void*)));
  const int bytes = promised_alignment(of.alignment);
  if (bytes < size_bytes(of.dtype) || bytes > 16 || !std::has_single_bit(static_cast<unsigned>(bytes))) {
    refuse(fmt::format("batch_align_{} is {}; it is one of 1, 2, 4, 8, 16, and at least {}, or 0 for 16", of.name,
                       of.alignment, size_bytes(of.dtype)));
  }
}

/// Checks the distance of matrices of bits, which is counted in bits.
void validate_bit_strides(const Problem& p, const Operands& o) {
  if (o.batch_stride_auxiliary % kBitRowUnit != 0) {
    refuse(fmt::format("batch_stride_auxiliary is {}; that of matrices of bits counts bits, and is a multiple of {}",
                       o.batch_stride_auxiliary, kBitRowUnit));
  }
  if (p.epilogue.aux)
    return validate_written("auxiliary", o.auxiliary, o.batch_stride_auxiliary, o.ld_auxiliary, p.n, p);
  validate_stride("auxiliary", o.auxiliary, o.batch_stride_auxiliary, p.batch, p.types.d);
}

/// The distances of the matrices of the epilogue.
void validate_epilogue_strides(const Problem& p, const Operands& o) {
  if (p.epilogue.residual) validate_read_stride("residual", o.residual, o.batch_stride_residual, p, o);
  if (p.epilogue.bits) validate_bit_strides(p, o);
  if (p.epilogue.reads_auxiliary() && !p.epilogue.bits)
    validate_read_stride("auxiliary", o.auxiliary, o.batch_stride_auxiliary, p, o);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (p.epilogue.function.operand(i) != FunctionOperand::matrix) continue;
    validate_read_stride(fmt::format("function_operands[{}]", i).c_str(), o.function_operands[i],
                         o.batch_stride_function_operands[i], p, o);
  }
  if (p.epilogue.aux && !p.epilogue.bits)
    validate_written("auxiliary", o.auxiliary, o.batch_stride_auxiliary, o.ld_auxiliary, p.n, p);
}

}  // namespace

void validate_pointers(const Problem& p, const Operands& o) {
  const bool has_d = !is_empty(p), has_product = has_d && p.k != 0 && (o.alpha != 0 || o.alpha_device != nullptr);
  validate_array({"a", o.batch_a, o.a, o.batch_align_a, p.types.a, has_product});
  validate_array({"b", o.batch_b, o.b, o.batch_align_b, p.types.b, has_product});
  validate_array({"c", o.batch_c, o.c, o.batch_align_c, p.types.c, has_d && reads_c(o)});
  validate_array({"d", o.batch_d, o.d, o.batch_align_d, p.types.d, has_d});
  if (has_d && reads_c(o) && o.batch_c == o.batch_d && o.ldc != o.ldd) {
    refuse(fmt::format("batch_c and batch_d are one array with different leading dimensions: ldc {}, ldd {}", o.ldc,
                       o.ldd));
  }
  if (p.batch > 1) validate_epilogue_strides(p, o);
}

void validate_batch(const Problem& p, const Operands& o) {
  validate_stride("a", o.a, o.batch_stride_a, p.batch, p.types.a);
  validate_stride("b", o.b, o.batch_stride_b, p.batch, p.types.b);
  validate_written("d", o.d, o.batch_stride_d, o.ldd, columns_of_d(p), p);
  if (reads_c(o)) validate_read_stride("c", o.c, o.batch_stride_c, p, o);  // of D's type, as all kernels have it
  validate_epilogue_strides(p, o);
}

void validate_groups(const Problem& p, const Operands& o) {
  if (p.group_kind == GroupKind::rows) {
    validate_stride("b", o.b, o.batch_stride_b, p.groups, p.types.b, "{} groups");
  } else {
    Problem products = p;
    products.batch = p.groups;
    validate_batch(products, o);
  }
  if (p.epilogue.bias != Bias::none)
    validate_stride("bias", o.bias, o.batch_stride_bias, p.groups, bias_type(p.types.d), "{} groups");
  if (p.group_kind == GroupKind::masked_rows) {
    if (all_rows(p) > kMaxSize) {  // kernels count them
      refuse(fmt::format("{} masked groups have room for {} rows together, which is more than {}", p.groups,
                         all_rows(p), kMaxSize));
    }
    validate_numbers("group_counts", o.group_counts, "how many rows groups have", p);
  } else {
    validate_numbers("group_offsets", o.group_offsets, "where groups begin", p);
  }
}

}  // namespace hotgemm
