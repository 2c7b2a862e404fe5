#include "gpu/check_kernels.hpp"

#include <algorithm>

namespace hotgemm {
namespace {

constexpr unsigned kThreads = 256;  // kCheckThreads of templates/check.cuh

}  // namespace

CheckKernels::CheckKernels(const Driver& driver, const Cubin& cubin)
    : driver_(driver),
      module_(driver, cubin, 0),
      fill_(module_.function("hotgemm_fill")),
      check_(module_.function("hotgemm_check")),
      digest_(module_.function("hotgemm_digest")),
      pointwise_(module_.function("hotgemm_pointwise")),
      report_(driver, std::max(sizeof(CheckReport), sizeof(std::uint64_t))) {}

void CheckKernels::launch(CUfunction function, std::int64_t elements, void* args, CUstream stream) const {
  void* parameters[] = {args};
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>((elements + kThreads - 1) / kThreads, 1, 4096));
  driver_.check(driver_.cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr),
                "launch a check kernel");
}

void CheckKernels::fill(const Filled& matrix, DType type, std::int64_t rows, std::int64_t cols, const Problem& p,
                        FillPattern pattern, bool transposed, unsigned seed, CUstream stream) const {
  if (rows == 0 || cols == 0 || p.batch == 0) return;
  FillArgs args{.matrix = matrix.address,
                .ld = matrix.ld,
                .stride = matrix.stride,
                .matrices = static_cast<int>(p.batch),
                .rows = static_cast<int>(transposed ? cols : rows),
                .cols = static_cast<int>(transposed ? rows : cols),
                .k_extent = static_cast<int>(p.k),
                .transposed = transposed ? 1 : 0,
                .seed = seed,
                .pattern = pattern,
                .dtype = type};
  launch(fill_, rows * cols * p.batch, &args, stream);
}

void CheckKernels::fill_check(const Problem& p, const OperandSet& set, unsigned seed, CUstream stream) const {
  fill_a_and_b(p, set, FillPattern::check_a, seed, FillPattern::check_b, seed, stream);
  if (set.c != 0) fill_check_c(p, set.c, set.ldc, seed, stream);
  const std::int64_t bytes = ((p.batch - 1) * set.stride_d + (p.m - 1) * set.ldd + p.n) * size_bytes(p.types.d);
  driver_.check(driver_.cuMemsetD8Async(set.d, unwritten_byte(p.types.d), static_cast<std::size_t>(bytes), stream),
                "poison D");
}

void CheckKernels::fill_check_c(const Problem& p, CUdeviceptr matrix, std::int64_t ld, unsigned seed,
                                CUstream stream) const {
  fill({matrix, ld, p.m * ld}, p.types.c, p.m, p.n, p, FillPattern::check_c, false, seed, stream);
}

void CheckKernels::fill_normal(const Problem& p, const OperandSet& set, unsigned seed, CUstream stream) const {
  constexpr FillPattern kNormal = FillPattern::normal;
  fill_a_and_b(p, set, kNormal, seed, kNormal, seed + 1, stream);
  if (set.c != 0) fill({set.c, set.ldc, set.stride_c}, p.types.c, p.m, p.n, p, kNormal, false, seed + 2, stream);
}

void CheckKernels::fill_a_and_b(const Problem& p, const OperandSet& set, FillPattern of_a, unsigned seed_a,
                                FillPattern of_b, unsigned seed_b, CUstream stream) const {
  fill({set.a, set.lda, set.stride_a}, p.types.a, p.m, p.k, p, of_a, p.op_a == Op::t, seed_a, stream);
  fill({set.b, set.ldb, set.stride_b}, p.types.b, p.k, p.n, p, of_b, p.op_b == Op::t, seed_b, stream);
}

std::string CheckKernels::check(const Problem& p, const OperandSet& set, unsigned seed, int alpha, int beta,
                                CUstream stream) const {
  CheckReport report{};
  driver_.check(driver_.cuMemsetD8Async(report_.get(), 0, sizeof report, stream), "clear the check's report");
  CheckArgs args{.d = set.d,
                 .report = report_.get(),
                 .ldd = set.ldd,
                 .stride_d = set.stride_d,
                 .products = static_cast<int>(p.batch),
                 .m = static_cast<int>(p.m),
                 .n = static_cast<int>(p.n),
                 .k = static_cast<int>(p.k),
                 .alpha = alpha,
                 .beta = beta,
                 .seed = seed,
                 .dtype = p.types.d};
  launch(check_, p.m * p.n * p.batch, &args, stream);
  driver_.check(driver_.cuMemcpyDtoHAsync(&report, report_.get(), sizeof report, stream), "fetch the check's report");
  driver_.check(driver_.cuStreamSynchronize(stream), "run a kernel and check its result");
  if (report.mismatches == 0) return {};
  return std::to_string(report.mismatches) + " of " + std::to_string(p.m * p.n * p.batch) +
         " elements are wrong, one of them at (" + std::to_string(report.row) + ", " + std::to_string(report.col) +
         ")" + (p.batch > 1 ? " of product " + std::to_string(report.product) : "");
}

std::uint64_t CheckKernels::digest(const Problem& p, const OperandPool& pool, const OperandSet& set,
                                   CUstream stream) const {
  constexpr std::int64_t kChunksPerThread = 16;  // enough chunks that the sums over threads cost little
  std::uint64_t sum = 0;
  driver_.check(driver_.cuMemsetD8Async(report_.get(), 0, sizeof sum, stream), "clear a digest");
  const auto element_bytes = static_cast<std::uint64_t>(size_bytes(p.types.d));
  DigestArgs args{.begin = pool.begin(),
                  .bytes = pool.bytes(),
                  .sum = report_.get(),
                  .matrix = set.d,
                  .pitch_bytes = static_cast<std::uint64_t>(set.ldd) * element_bytes,
                  .row_bytes = static_cast<std::uint64_t>(p.n) * element_bytes,
                  .rows = static_cast<std::uint64_t>(p.m * p.batch)};
  launch(digest_, static_cast<std::int64_t>(pool.bytes() / kDigestChunkBytes) / kChunksPerThread, &args, stream);
  driver_.check(driver_.cuMemcpyDtoHAsync(&sum, report_.get(), sizeof sum, stream), "fetch a digest");
  driver_.check(driver_.cuStreamSynchronize(stream), "digest the operands' memory");
  return sum;
}

void CheckKernels::pointwise(CUdeviceptr buffer, std::size_t bytes, CUstream stream) const {
  PointwiseArgs args{.begin = buffer, .bytes = bytes};
  launch(pointwise_, static_cast<std::int64_t>(bytes / kPointwiseChunkBytes), &args, stream);
}

}  // namespace hotgemm
