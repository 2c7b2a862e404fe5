#include "gpu/operand_pool.hpp"

#include "gpu/stream.hpp"

#include <algorithm>
#include <limits>

namespace hotgemm {
namespace {

constexpr std::int64_t kMatrixAlignment = 256;
constexpr std::int64_t kRowAlignment = 16;  // the best that a class tells
constexpr std::int64_t kMostSets = 64;
constexpr unsigned char kPattern = 0xa5;  // byte that fills guards and padding
// A limit for the bytes of a matrix: larger than any memory, and small enough that the sum over all operands does not
// overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

struct Matrix {
  std::int64_t ld = 0;
  std::int64_t stride = 0;  // from one matrix of a batch to the next, in elements
  std::int64_t offset = 0;  // of its first element from a multiple of kMatrixAlignment, in bytes
  std::int64_t bytes = 0;   // offset included, padded to kMatrixAlignment
};

Matrix matrix(std::int64_t rows, std::int64_t cols, std::int64_t batch, int align_bytes, DType dtype) {
  const std::int64_t element = size_bytes(dtype);
  const std::int64_t ld = round_up(std::max<std::int64_t>(cols, 1) * element, align_bytes) / element;
  const std::int64_t row_bytes = ld * element;
  // The address has the alignment of the class if the rows have a better one.
  const std::int64_t offset = align_bytes < kRowAlignment && row_bytes % (2 * align_bytes) == 0 ? align_bytes : 0;
  const std::int64_t stride = rows * ld, all_rows = std::max<std::int64_t>(rows, 1) * std::max<std::int64_t>(batch, 1);
  if (all_rows > kMostBytes / row_bytes) return {ld, stride, offset, kMostBytes};
  return {ld, stride, offset, round_up(all_rows * row_bytes + offset, kMatrixAlignment)};
}

/// The matrices of a problem. Those of a batch lie behind each other.
struct Matrices {
  Matrix a, b, c, d;
  std::int64_t operand_bytes = 0;
  std::int64_t set_bytes = 0;  // guards included
};

Matrices matrices_of(const Workload& p) {
  const Hints& align = p.hints;
  const Matrix a = p.op_a == Op::n ? matrix(p.m, p.k, p.batch, align.align_a, p.types.a)
                                   : matrix(p.k, p.m, p.batch, align.align_a, p.types.a);
  const Matrix b = p.op_b == Op::n ? matrix(p.k, p.n, p.batch, align.align_b, p.types.b)
                                   : matrix(p.n, p.k, p.batch, align.align_b, p.types.b);
  const Matrix c = p.hints.beta_is_zero ? Matrix{} : matrix(p.m, p.n, p.batch, align.align_d, p.types.c);
  const Matrix d = matrix(p.m, p.n, p.batch, align.align_d, p.types.d);
  const int matrices = p.hints.beta_is_zero ? 3 : 4;
  const std::int64_t operand_bytes = a.bytes + b.bytes + c.bytes + d.bytes;
  return {a, b, c, d, operand_bytes, operand_bytes + matrices * OperandPool::kGuardBytes};
}

}  // namespace

void OperandPool::check_fits(const Workload& p, std::int64_t max_bytes, std::int64_t free_bytes, double free_share) {
  const std::int64_t bytes = matrices_of(p).set_bytes + 2 * kEndGuardBytes;
  const std::string need = "operands of " + to_string(p) + " take " + std::to_string(bytes >> 10) + " KiB; ";
  if (bytes > max_bytes) {
    throw Error(ErrorCode::out_of_memory, need + std::to_string(max_bytes >> 10) + " KiB of scratch are allowed");
  }
  if (static_cast<double>(bytes) > free_share * static_cast<double>(free_bytes)) {
    throw Error(ErrorCode::out_of_memory,
                need + std::to_string(free_bytes >> 10) + " KiB of the GPU's memory are free" +
                    (free_share < 1 ? ", of which they may take a share of " + std::to_string(free_share) : ""));
  }
}

OperandPool::OperandPool(const Driver& driver, const Workload& p, std::int64_t l2_bytes, std::int64_t max_bytes) {
  if (p.epilogue != Epilogue{}) {
    throw Error(ErrorCode::not_supported, "fused kernels are not measured; leave out the epilogue of " + to_string(p));
  }
  check_fits(p, max_bytes, std::numeric_limits<std::int64_t>::max());
  const auto [a, b, c, d, operand_bytes, set_bytes] = matrices_of(p);
  const std::int64_t wanted = std::clamp<std::int64_t>(2 * l2_bytes / operand_bytes + 1, 1, kMostSets);
  const std::int64_t count = std::min(wanted, (max_bytes - 2 * kEndGuardBytes) / set_bytes);
  slab_ = DeviceBuffer(driver, static_cast<std::size_t>(count * set_bytes + 2 * kEndGuardBytes));
  const OwnedStream stream(driver);
  driver.check(driver.cuMemsetD8Async(slab_.get(), kPattern, slab_.bytes(), stream.get()), "fill the operands' memory");
  stream.synchronize();
  for (std::int64_t i = 0; i < count; ++i) {
    CUdeviceptr at = slab_.get() + static_cast<CUdeviceptr>(kEndGuardBytes + i * set_bytes);
    const auto take = [&](const Matrix& matrix) {
      const CUdeviceptr taken = at + static_cast<CUdeviceptr>(matrix.offset);
      at += static_cast<CUdeviceptr>(matrix.bytes + kGuardBytes);
      return taken;
    };
    const Matrix& of_c = p.hints.beta_is_zero ? d : c;
    OperandSet set{.lda = a.ld,
                   .ldb = b.ld,
                   .ldc = of_c.ld,
                   .ldd = d.ld,
                   .stride_a = a.stride,
                   .stride_b = b.stride,
                   .stride_c = of_c.stride,
                   .stride_d = d.stride};
    set.a = take(a);
    set.b = take(b);
    set.d = take(d);
    if (!p.hints.beta_is_zero) set.c = take(c);
    sets_.push_back(set);
  }
}

Operands OperandPool::operands(const OperandSet& set, float alpha, float beta) {
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  return {.a = pointer(set.a),
          .b = pointer(set.b),
          .c = pointer(set.c),
          .d = pointer(set.d),
          .lda = set.lda,
          .ldb = set.ldb,
          .ldc = set.ldc,
          .ldd = set.ldd,
          .alpha = alpha,
          .beta = beta,
          .batch_stride_a = set.stride_a,
          .batch_stride_b = set.stride_b,
          .batch_stride_c = set.stride_c,
          .batch_stride_d = set.stride_d};
}

}  // namespace hotgemm
