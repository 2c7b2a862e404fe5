#include "runtime/validate_batch.hpp"

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
  if (is_empty(p)) return;
  const std::int64_t n = columns_of_d(p);
  const bool is_behind = stride >= (p.m - 1) * ld + n;
  const bool is_beside = stride >= n && stride <= (ld - n) / (p.batch - 1);
  if (is_behind || is_beside) return;
  bad(
      fmt::format("matrices overlap: batch_stride_{} is {} for a batch of {} matrices of {}×{} elements with rows {} "
                  "apart",
                  name, stride, p.batch, p.m, n, ld));
}

/// Checks that a matrix which is D too is the D of the same product.
void validate_in_place(const char* name, const void* pointer, std::int64_t stride, const Operands& o) {
  if (pointer == nullptr || pointer != o.d || stride == o.batch_stride_d) return;
  bad(fmt::format("{0} and d are the same matrix with different distances: batch_stride_{0} {1}, batch_stride_d {2}",
                  name, stride, o.batch_stride_d));
}

}  // namespace

void validate_batch(const Problem& p, const Operands& o) {
  validate_stride("a", o.a, o.batch_stride_a, p.batch, p.types.a);
  validate_stride("b", o.b, o.batch_stride_b, p.batch, p.types.b);
  validate_written("d", o.d, o.batch_stride_d, o.ldd, p);
  if (reads_c(o)) {
    validate_stride("c", o.c, o.batch_stride_c, p.batch, p.types.c);
    validate_in_place("c", o.c, o.batch_stride_c, o);
  }
  if (p.epilogue.residual) {
    validate_stride("residual", o.residual, o.batch_stride_residual, p.batch, p.types.d);
    validate_in_place("residual", o.residual, o.batch_stride_residual, o);
  }
  if (p.epilogue.aux) validate_written("auxiliary", o.auxiliary, o.batch_stride_auxiliary, o.ld_auxiliary, p);
}

void validate_groups(const Problem& p, const Operands& o) {
  validate_stride("b", o.b, o.batch_stride_b, p.groups, p.types.b, "{} groups");
  if (o.group_offsets == nullptr && !is_empty(p))
    bad("group_offsets is null; the kernel reads from it where groups begin");
  if (reinterpret_cast<std::uintptr_t>(o.group_offsets) % sizeof(std::int32_t) != 0)
    bad("group_offsets is not at a multiple of 4 bytes");
}

}  // namespace hotgemm
