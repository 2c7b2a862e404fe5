#include "runtime/validate_batch.hpp"

#include "config/max_size.hpp"
#include "config/work.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

namespace hotgemm {
namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

/// Checks that the last matrix of an operand has an address. `products` says what there are `batch` of.
void validate_stride(const char* name, const void* pointer, std::int64_t stride, std::int64_t batch, DType dtype,
                     const char* products = "a batch of {}") {
  if (stride < 0) bad(fmt::format("batch_stride_{} is negative: {}", name, stride));
  std::int64_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(stride, batch, &bytes) || __builtin_mul_overflow(bytes, size_bytes(dtype), &bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (overflows || address > std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(bytes)) {
    bad(fmt::format("batch_stride_{} is {} with {}; the last matrix is beyond the last address", name, stride,
                    fmt::format(fmt::runtime(products), batch)));
  }
}

/// The same for matrices of D's size that are written. They lie behind each other or, within the rows of one wide
/// matrix, side by side.
void validate_written(const char* name, const void* pointer, std::int64_t stride, std::int64_t ld, const Problem& p) {
  validate_stride(name, pointer, stride, p.batch, p.types.d);
  if (is_empty(p) || p.batch == 1) return;
  const std::int64_t n = columns_of_d(p);
  const bool is_behind = stride >= (p.m - 1) * ld + n;
  const bool is_beside = stride >= n && stride <= (ld - n) / (p.batch - 1);
  if (is_behind || is_beside) return;
  bad(
      fmt::format("matrices overlap: batch_stride_{} is {} for a batch of {} matrices of {}×{} elements with rows {} "
                  "apart",
                  name, stride, p.batch, p.m, n, ld));
}

/// Checks a matrix of D's type that is read. If it is D too, it is the D of the same product.
void validate_read(const char* name, const void* pointer, std::int64_t stride, const Problem& p, const Operands& o) {
  validate_stride(name, pointer, stride, p.batch, p.types.d);
  if (pointer == nullptr || pointer != o.d || stride == o.batch_stride_d) return;
  bad(fmt::format("{0} and d are the same matrix with different distances: batch_stride_{0} {1}, batch_stride_d {2}",
                  name, stride, o.batch_stride_d));
}

/// Checks the address of numbers that say `what`.
void validate_numbers(const char* name, const std::int32_t* numbers, const char* what, const Problem& p) {
  if (numbers == nullptr && !is_empty(p)) bad(fmt::format("{} is null; the kernel reads from it {}", name, what));
  if (reinterpret_cast<std::uintptr_t>(numbers) % sizeof(std::int32_t) != 0)
    bad(fmt::format("{} is not at a multiple of 4 bytes", name));
}

}  // namespace

void validate_batch(const Problem& p, const Operands& o) {
  validate_stride("a", o.a, o.batch_stride_a, p.batch, p.types.a);
  validate_stride("b", o.b, o.batch_stride_b, p.batch, p.types.b);
  validate_written("d", o.d, o.batch_stride_d, o.ldd, p);
  if (reads_c(o)) validate_read("c", o.c, o.batch_stride_c, p, o);  // of D's type, as all kernels have it
  if (p.epilogue.residual) validate_read("residual", o.residual, o.batch_stride_residual, p, o);
  if (p.epilogue.reads_auxiliary()) validate_read("auxiliary", o.auxiliary, o.batch_stride_auxiliary, p, o);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (p.epilogue.function.operand(i) != FunctionOperand::matrix) continue;
    validate_read(fmt::format("function_operands[{}]", i).c_str(), o.function_operands[i],
                  o.batch_stride_function_operands[i], p, o);
  }
  if (p.epilogue.aux) validate_written("auxiliary", o.auxiliary, o.batch_stride_auxiliary, o.ld_auxiliary, p);
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
      bad(fmt::format("{} masked groups have room for {} rows together, which is more than {}", p.groups, all_rows(p),
                      kMaxSize));
    }
    validate_numbers("group_counts", o.group_counts, "how many rows groups have", p);
  } else {
    validate_numbers("group_offsets", o.group_offsets, "where groups begin", p);
  }
}

}  // namespace hotgemm
