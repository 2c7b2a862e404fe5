#include "gpu/check_kernels.hpp"

#include "config/work.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr unsigned kThreads = 256;  // kCheckThreads of templates/check.cuh

// Added to a seed, so that no two operands have the same numbers. A, B and C have 0, 1 and 2.
constexpr unsigned kBiasKey = 0x1001, kResidualKey = 0x1002, kScaleKey = 0x1003, kAuxiliaryKey = 0x1010;
constexpr unsigned kOperandKey = 0x1020;

/// Numbers in [0.5, 1.5).
std::vector<float> scale_factors(std::int64_t count, unsigned seed) {
  std::vector<float> factors;
  for (std::int64_t i = 0; i < count; ++i) {
    factors.push_back(0.5f + static_cast<float>(hash_at(seed, static_cast<unsigned>(i), 0) >> 8) * 0x1p-24f);
  }
  return factors;
}

/// The factors of A and of B that scales of blocks have.
std::pair<std::int64_t, std::int64_t> block_scale_counts(const Problem& p, const EpilogueSet& set) {
  return {scale_blocks(p.k) * set.ld_scale_a * scaled_a(p), scale_blocks(p.n) * set.ld_scale_b * scaled_b(p)};
}

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

void CheckKernels::fill_check(const Problem& asked, const OperandSet& set, unsigned seed, CUstream stream) const {
  const Problem p = with_uniform_groups(asked);
  fill_a_and_b(p, set, FillPattern::check_a, seed, FillPattern::check_b, seed, stream);
  if (set.c != 0) fill_check_c(p, set.c, set.ldc, seed, stream);
  if (p.epilogue.has_block_scales()) fill_check_scales(asked, set.epilogue, stream);
  const std::int64_t bytes = ((p.batch - 1) * set.stride_d + (p.m - 1) * set.ldd + p.n) * size_bytes(p.types.d);
  driver_.check(driver_.cuMemsetD8Async(set.d, unwritten_byte(p.types.d), static_cast<std::size_t>(bytes), stream),
                "poison D");
}

/// Scales whose products are 1 for each block of k, so that the exact sums are those without scales. Neighbouring
/// blocks of k have others, so that a kernel that takes those of another block is wrong.
void CheckKernels::fill_check_scales(const Problem& p, const EpilogueSet& set, CUstream stream) const {
  const auto [of_a, of_b] = block_scale_counts(p, set);
  std::vector<float> a(static_cast<std::size_t>(of_a)), b(static_cast<std::size_t>(of_b));
  const std::int64_t blocks = scale_blocks(p.k);
  const auto scale = [&](std::int64_t block) { return std::ldexp(1.0f, static_cast<int>(block % 3) - 1); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = scale(static_cast<std::int64_t>(i) / set.ld_scale_a % blocks);  // a row for each block of k
  }
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 / scale(static_cast<std::int64_t>(i) % set.ld_scale_b);
  const auto upload = [&](CUdeviceptr to, const std::vector<float>& scales) {
    driver_.check(driver_.cuMemcpyHtoDAsync(to, scales.data(), scales.size() * sizeof(float), stream), "fill scales");
  };
  upload(set.scale_a, a);
  upload(set.scale_b, b);
  driver_.check(driver_.cuStreamSynchronize(stream), "fill scales");
}

void CheckKernels::fill_check_c(const Problem& asked, CUdeviceptr matrix, std::int64_t ld, unsigned seed,
                                CUstream stream) const {
  const Problem p = with_uniform_groups(asked);
  fill({matrix, ld, p.m * ld}, p.types.c, p.m, p.n, p, FillPattern::check_c, false, seed, stream);
}

void CheckKernels::fill_normal(const Problem& asked, const OperandSet& set, unsigned seed, CUstream stream) const {
  const Problem p = with_uniform_groups(asked);
  constexpr FillPattern kNormal = FillPattern::normal;
  fill_a_and_b(p, set, kNormal, seed, kNormal, seed + 1, stream);
  if (set.c != 0) fill({set.c, set.ldc, set.stride_c}, p.types.c, p.m, p.n, p, kNormal, false, seed + 2, stream);
  fill_epilogue(asked, set, 1, set.c != 0 ? 1 : 0, seed, stream);
}

void CheckKernels::fill_a_and_b(const Problem& p, const OperandSet& set, FillPattern of_a, unsigned seed_a,
                                FillPattern of_b, unsigned seed_b, CUstream stream) const {
  fill({set.a, set.lda, set.stride_a}, p.types.a, p.m, p.k, p, of_a, p.op_a == Op::t, seed_a, stream);
  fill({set.b, set.ldb, set.stride_b}, p.types.b, p.k, p.n, p, of_b, p.op_b == Op::t, seed_b, stream);
}

void CheckKernels::fill_epilogue(const Problem& p, const OperandSet& set, float alpha, float beta, unsigned seed,
                                 CUstream stream) const {
  const Epilogue& e = p.epilogue;
  if (e == Epilogue{}) return;
  const EpilogueSet& to = set.epilogue;
  const auto normal = [&](const Filled& matrix, DType type, std::int64_t rows, std::int64_t cols, const Problem& of,
                          unsigned key) {
    if (matrix.address != 0) fill(matrix, type, rows, cols, of, FillPattern::normal, false, seed + key, stream);
  };
  Problem one = p;  // all products share the bias, and groups divide it
  one.batch = 1;
  const Problem products = with_uniform_groups(p);
  const std::int64_t biases = e.bias == Bias::per_row ? all_rows(p) : p.n;
  normal({to.bias, biases, 0}, bias_type(p.types.d), 1, biases, one, kBiasKey);
  normal({to.residual, to.ld_residual, to.stride_residual}, p.types.d, products.m, p.n, products, kResidualKey);
  if (e.reads_bits()) {  // of any values
    normal({to.auxiliary, to.ld_auxiliary / 8, to.stride_auxiliary / 8}, DType::s8, products.m, to.ld_auxiliary / 8,
           products, kAuxiliaryKey);
  } else if (e.reads_auxiliary()) {
    normal({to.auxiliary, to.ld_auxiliary, to.stride_auxiliary}, p.types.d, products.m, p.n, products, kAuxiliaryKey);
  }
  std::vector<std::vector<float>> uploads;  // until the stream has read them
  const auto upload = [&](CUdeviceptr vector, std::vector<float> values) {
    if (vector == 0) return;
    uploads.push_back(std::move(values));
    driver_.check(
        driver_.cuMemcpyHtoDAsync(vector, uploads.back().data(), uploads.back().size() * sizeof(float), stream),
        "fill scales");
  };
  const auto factors = [](Scaling scaling, std::int64_t all, std::int64_t of_blocks) {
    return scaling == Scaling::none ? 0 : scaling == Scaling::tensor ? 1 : scaling == Scaling::vector ? all : of_blocks;
  };
  const auto [blocks_a, blocks_b] = block_scale_counts(p, to);
  upload(to.scale_a, scale_factors(factors(e.scale_a, all_rows(p), blocks_a), seed + kScaleKey));
  upload(to.scale_b, scale_factors(factors(e.scale_b, p.n, blocks_b), seed + kScaleKey + 1));
  upload(to.scale_d, scale_factors(1, seed + kScaleKey + 2));
  upload(to.scalars, {alpha, beta});
  upload(to.amax, {0});
  upload(to.bias_gradient, std::vector<float>(static_cast<std::size_t>(e.bias_gradient == Bias::per_row ? p.m : p.n)));
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = e.function.operand(i);
    const unsigned key = kOperandKey + static_cast<unsigned>(i);
    if (kind == FunctionOperand::matrix) {
      normal({to.operands[i], to.ld_operands[i], to.stride_operands[i]}, p.types.d, products.m, p.n, products, key);
    } else {
      const std::int64_t count = kind == FunctionOperand::row ? all_rows(p) : kind == FunctionOperand::column ? p.n : 1;
      upload(to.operands[i], scale_factors(count, seed + key));
    }
  }
  if (e.aux) {
    const std::int64_t elements = (products.batch - 1) * to.stride_auxiliary + (products.m - 1) * to.ld_auxiliary + p.n;
    const std::int64_t bytes = e.bits ? (elements + 7) / 8 : elements * size_bytes(p.types.d);
    driver_.check(
        driver_.cuMemsetD8Async(to.auxiliary, unwritten_byte(p.types.d), static_cast<std::size_t>(bytes), stream),
        "poison the auxiliary output");
  }
  driver_.check(driver_.cuStreamSynchronize(stream), "fill the operands of an epilogue");
}

std::string CheckKernels::check(const Problem& asked, const OperandSet& set, unsigned seed, int alpha, int beta,
                                CUstream stream) const {
  const Problem p = with_uniform_groups(asked);
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

std::uint64_t CheckKernels::digest(const Problem& asked, const OperandPool& pool, const OperandSet& set,
                                   CUstream stream) const {
  const Problem p = with_uniform_groups(asked);
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
