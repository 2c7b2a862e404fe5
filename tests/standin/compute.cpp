#include "standin/compute.hpp"

#include "emulate/epilogue_reference.hpp"
#include "shared/gate.hpp"
#include "standin/element.hpp"
#include "standin/epilogue_operands.hpp"
#include "standin/product_args.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace hotgemm::standin {
namespace {

constexpr int kPanel =
    64;  // columns that are accumulated together; a constant, so that the loop over them is vectorised

constexpr DType kBytes = DType::s8;  // of elements as bytes

Outcome examine(const Matrix& matrix, const AddressSpace& space, int vector) {
  if (matrix.rows <= 0 || matrix.cols <= 0) return Outcome::good;
  const auto element_bytes = static_cast<std::uint64_t>(size_bytes(matrix.dtype));
  const std::uint64_t access = static_cast<std::uint64_t>(vector) * element_bytes;
  const auto ld = static_cast<std::uint64_t>(matrix.ld);
  if (matrix.address % access != 0) return Outcome::misaligned_address;
  if (matrix.rows > 1 && ld * element_bytes % access != 0) return Outcome::misaligned_address;
  constexpr double kTooFar = 1e15;
  const double last = static_cast<double>(matrix.rows - 1) * static_cast<double>(matrix.ld);
  if (last < 0 || last > kTooFar) return Outcome::illegal_address;
  const auto rows = static_cast<std::uint64_t>(matrix.rows), cols = static_cast<std::uint64_t>(matrix.cols);
  const std::uint64_t elements = (rows - 1) * ld + cols;
  return space.contains(matrix.address, elements * element_bytes) ? Outcome::good : Outcome::illegal_address;
}

Matrix stored(std::uint64_t address, long long ld, int rows, int cols, Op op, DType dtype) {
  return op == Op::n ? Matrix{address, ld, rows, cols, dtype} : Matrix{address, ld, cols, rows, dtype};
}

/// op(B) as float, in panels of kPanel columns: element (l, j) is at ((j / kPanel) * k + l) * kPanel + j % kPanel.
std::vector<float> pack_b(const Matrix& b, Op op, int n, int k) {
  const std::size_t panels = static_cast<std::size_t>((n + kPanel - 1) / kPanel);
  std::vector<float> packed(panels * static_cast<std::size_t>(k) * kPanel, 0.0f);
  for (long long row = 0; row < b.rows; ++row) {
    for (long long col = 0; col < b.cols; ++col) {
      const long long l = op == Op::n ? row : col, j = op == Op::n ? col : row;
      packed[static_cast<std::size_t>((j / kPanel * k + l) * kPanel + j % kPanel)] = b.load(row, col);
    }
  }
  return packed;
}

/// A nonzero element of a row of op(A). Zeros are skipped where they cannot matter, because check data is almost all
/// zeros: a sum that starts at +0 keeps its bits when ±0 is added.
struct Term {
  int l;
  float value;
};

std::vector<Term> terms_of_row(const Matrix& a, Op op, int i, int k, bool zeros_matter) {
  std::vector<Term> terms;
  for (int l = 0; l < k; ++l) {
    const float value = op == Op::n ? a.load(i, l) : a.load(l, i);
    if (value != 0.0f || zeros_matter) terms.push_back({l, value});
  }
  return terms;
}

void accumulate(const std::vector<Term>& terms, const float* panel, float* sums) {
  std::fill_n(sums, kPanel, 0.0f);
  for (const Term& term : terms) {
    const float* row = panel + static_cast<std::size_t>(term.l) * kPanel;
    for (int j = 0; j < kPanel; ++j) sums[j] += term.value * row[j];
  }
}

void write_stray(const Matrix& d, const Matrix& a, const AddressSpace& space) {
  const std::uint64_t behind = d.at(d.rows - 1, d.cols);
  const std::uint64_t where = space.contains(behind, 1) ? behind : a.address;
  *reinterpret_cast<std::uint8_t*>(where) += 0x41;  // doing this twice changes the byte too
}

void spoil(const Matrix& d, Corruption corruption, unsigned salt) {
  const long long row = hash_at(salt, 1, 0) % static_cast<unsigned long long>(d.rows);
  const long long col = hash_at(salt, 2, 0) % static_cast<unsigned long long>(d.cols);
  const float right = d.load(row, col);
  float wrong = std::numeric_limits<float>::quiet_NaN();
  // A value that an integer has too, and that no unwritten element has.
  if (corruption != Corruption::nan || is_integer(d.dtype)) wrong = right == 0.0f || std::isnan(right) ? 1.0f : -right;
  d.store(row, col, wrong);
}

float normal_at(unsigned seed, unsigned row, unsigned col) {
  const unsigned first = hash_at(seed, row, col);
  const unsigned second = hash_at(seed ^ 0x2545f491u, row, col);
  const float u = (static_cast<float>(first >> 8) + 0.5f) * (1.0f / 16777216.0f);
  const float v = static_cast<float>(second >> 8) * (1.0f / 16777216.0f);
  return std::sqrt(-1.3862943611f * std::log2(u)) * std::cos(6.2831853072f * v);
}

float pattern_value(const FillArgs& args, int row, int col, int stride) {
  const int i = args.transposed != 0 ? col : row;
  const int j = args.transposed != 0 ? row : col;
  switch (args.pattern) {
    case FillPattern::check_a: return static_cast<float>(check_value_a(args.seed, i, j, stride));
    case FillPattern::check_b: return static_cast<float>(check_value_b(args.seed, i, j));
    case FillPattern::check_c: return static_cast<float>(check_value_c(args.seed, i, j));
    case FillPattern::normal: break;
  }
  const float value = normal_at(args.seed, static_cast<unsigned>(row), static_cast<unsigned>(col));
  return args.dtype == DType::s8 ? quantized_normal(value) : value;
}

/// Replaces the address of an array by that of the product's matrix.
Outcome look_up(unsigned long long& address, unsigned product, const AddressSpace& space) {
  if (address == 0) return Outcome::good;
  const std::uint64_t at = address + product * sizeof(std::uint64_t);
  if (at % sizeof(std::uint64_t) != 0) return Outcome::misaligned_address;
  if (!space.contains(at, sizeof(std::uint64_t))) return Outcome::illegal_address;
  address = *reinterpret_cast<const std::uint64_t*>(at);
  return Outcome::good;
}

/// Copies one matrix.
Outcome run_repack(const RepackMatrix& matrix, const AddressSpace& space) {
  const long long to_pitch = static_cast<long long>(matrix.row_chunks) * kRepackChunkBytes;
  const bool is_transposed = matrix.transposed_bytes > 0;
  const long long element = std::max(matrix.transposed_bytes, 1);
  // Bytes as elements.
  const Matrix from = is_transposed ? Matrix{matrix.from, matrix.pitch, matrix.depth(), matrix.rows * element, kBytes}
                                    : Matrix{matrix.from, matrix.pitch, matrix.rows, matrix.row_bytes, kBytes};
  const Matrix to{matrix.to, to_pitch, matrix.rows, to_pitch, kBytes};
  if (const Outcome outcome = examine(from, space, 1); outcome != Outcome::good) return outcome;
  if (const Outcome outcome = examine(to, space, kRepackChunkBytes); outcome != Outcome::good) return outcome;
  for (long long row = 0; row < matrix.rows; ++row) {
    auto* const copy = reinterpret_cast<unsigned char*>(to.at(row, 0));
    std::memset(copy, 0, static_cast<std::size_t>(to_pitch));
    if (!is_transposed) {
      std::memcpy(copy, reinterpret_cast<const void*>(from.at(row, 0)), static_cast<std::size_t>(matrix.row_bytes));
      continue;
    }
    for (long long l = 0; l < matrix.depth(); ++l) {
      std::memcpy(copy + l * element, reinterpret_cast<const void*>(from.at(l, row * element)),
                  static_cast<std::size_t>(element));
    }
  }
  return Outcome::good;
}

}  // namespace

Outcome run_gemm(const GemmKernel& kernel, const KernelNode& node, unsigned product, const AddressSpace& space,
                 Corruption corruption, unsigned salt) {
  const GemmTraits& traits = kernel.traits;
  ProductArgs of_product(traits, node, product);
  if (traits.pointers) {
    GemmArgs& gemm = of_product.gemm = std::get<GemmArgs>(node.args);
    for (unsigned long long* const address : {&gemm.a, &gemm.b, &gemm.c, &gemm.d}) {
      if (const Outcome outcome = look_up(*address, product, space); outcome != Outcome::good) return outcome;
    }
  }
  if (traits.grouped) {
    const Outcome outcome = of_product.take_group(traits, node, product, space);
    if (outcome != Outcome::good) return outcome;
  }
  const GemmArgs& args = of_product.gemm;
  const Matrix a = stored(args.a, args.lda, args.m, args.k, traits.op_a, traits.element);
  const Matrix b = stored(args.b, args.ldb, args.k, args.n, traits.op_b, traits.element_b);
  const Matrix c{args.c, args.ldc, traits.reads_c ? args.m : 0, args.n, traits.element_d};
  const int columns = traits.epilogue.columns_of_d(args.n);
  const Matrix d{args.d, args.ldd, args.m, columns, traits.element_d};
  for (const auto& [matrix, vector] : {std::pair(a, traits.vec_a), std::pair(b, traits.vec_b),
                                       std::pair(c, traits.vec_d), std::pair(d, traits.vec_d)}) {
    const Outcome outcome = examine(matrix, space, vector);
    if (outcome != Outcome::good) return outcome;
  }
  if (args.m <= 0 || args.n <= 0) return Outcome::good;
  const EpilogueOperands chain(traits, args, of_product.epilogue, of_product.extras, product, corruption);
  for (const auto& [matrix, vector] : chain.all(traits.vec_d)) {
    const Outcome outcome = examine(matrix, space, vector);
    if (outcome != Outcome::good) return outcome;
  }
  if (corruption == Corruption::nothing) return Outcome::good;
  const float alpha = corruption == Corruption::no_alpha ? 1.0f : chain.alpha();
  const float beta = corruption == Corruption::no_beta ? 1.0f : chain.beta();
  std::vector<float> packed = pack_b(b, traits.op_b, args.n, args.k);
  for (std::size_t at = 0; traits.epilogue.has_block_scales() && at < packed.size(); ++at) {
    const int panel = static_cast<int>(at / static_cast<std::size_t>(args.k * kPanel));
    const int col = panel * kPanel + static_cast<int>(at % kPanel);
    if (col < args.n) packed[at] *= chain.of_b(static_cast<int>(at / kPanel) % args.k, col);
  }
  const bool zeros_matter =
      !std::all_of(packed.begin(), packed.end(), [](float value) { return std::isfinite(value); });
  std::vector<float> row(static_cast<std::size_t>(args.n));  // of the product, up to the bias
  for (int i = 0; i < args.m; ++i) {
    std::vector<Term> terms = terms_of_row(a, traits.op_a, i, args.k, zeros_matter);
    for (Term& term : terms) term.value *= chain.of_a(i, term.l);
    for (int j0 = 0; j0 < args.n; j0 += kPanel) {
      float sums[kPanel];
      accumulate(terms, packed.data() + static_cast<std::size_t>(j0) * static_cast<std::size_t>(args.k), sums);
      for (int j = j0; j < std::min(j0 + kPanel, args.n); ++j) {
        float value = alpha * sums[j - j0] * chain.scale(i, j);
        if (traits.reads_c) value += beta * c.load(i, j);
        row[static_cast<std::size_t>(j)] = chain.biased(value, i, j);
        chain.keep(row[static_cast<std::size_t>(j)], i, j);
      }
    }
    for (int j = 0; j < columns; ++j) {
      const GateColumns from =
          traits.epilogue.is_gated() ? gate_columns(traits.epilogue.gate, j, columns) : GateColumns{j, j};
      const float factor = traits.epilogue.is_gated() ? row[static_cast<std::size_t>(from.other)] : 1;
      d.store(i, j, chain.finish(row[static_cast<std::size_t>(from.gate)], factor, i, j));
    }
  }
  const bool in_place = traits.reads_c && args.c == args.d;
  switch (corruption) {
    case Corruption::stray: write_stray(d, a, space); break;
    case Corruption::in_place_wrong:
      if (in_place) spoil(d, corruption, salt);
      break;
    case Corruption::wrong:
    case Corruption::nan: spoil(d, corruption, salt); break;
    case Corruption::none:
    case Corruption::nothing:
    case Corruption::no_alpha:
    case Corruption::no_beta:
    case Corruption::no_activation:
    case Corruption::next_bias:
    case Corruption::no_amax: break;
  }
  return Outcome::good;
}

Outcome run_split(const GemmKernel& kernel, const KernelNode& node, const AddressSpace& space,
                  std::vector<std::string>& violations) {
  const auto& args = std::get<GemmArgs>(node.args);
  const WorkspaceArgs& workspace = node.workspace;
  const int splits = node.splits;
  const auto rows = static_cast<std::uint64_t>((args.m - 1) / kernel.block_m + 1);
  const auto columns = static_cast<std::uint64_t>((args.n - 1) / kernel.block_n + 1);
  const std::uint64_t tiles = rows * columns * node.batch.count;
  const std::uint64_t tile_floats = static_cast<std::uint64_t>(kernel.block_m * kernel.block_n);
  const std::uint64_t scratch_bytes = tiles * static_cast<std::uint64_t>(splits) * tile_floats * sizeof(float);
  // A kernel that divides k has another counter for each part.
  const std::uint64_t count = tiles * (kernel.splits_k ? 1 + static_cast<std::uint64_t>(splits) : 1);
  if (workspace.scratch % 16 != 0 || workspace.counters % sizeof(unsigned) != 0) return Outcome::misaligned_address;
  if (!space.contains(workspace.counters, count * sizeof(unsigned)) ||
      !space.contains(workspace.scratch, scratch_bytes)) {
    return Outcome::illegal_address;
  }
  const auto* counters = reinterpret_cast<const unsigned*>(workspace.counters);
  if (std::any_of(counters, counters + count, [](unsigned counter) { return counter != 0; })) {
    violations.emplace_back("a counter of a workspace is not zero when the kernel begins");
  }
  std::memset(reinterpret_cast<void*>(workspace.scratch), 0xff, scratch_bytes);
  return Outcome::good;
}

Outcome run_repack(const RepackArgs& args, const AddressSpace& space) {
  for (const RepackMatrix& operand : {args.first, args.second}) {
    for (unsigned product = 0; operand.rows > 0 && product < operand.products; ++product) {
      const Outcome outcome = run_repack(operand.of_product(product), space);
      if (outcome != Outcome::good) return outcome;
    }
  }
  return Outcome::good;
}

Outcome run_fill(const FillArgs& args, const AddressSpace& space) {
  const int stride = args.pattern == FillPattern::check_a ? std::max(check_stride(args.k_extent), 1) : 1;
  for (int i = 0; i < args.matrices; ++i) {
    const Matrix matrix{moved(args.matrix, i * args.stride, args.dtype), args.ld, args.rows, args.cols, args.dtype};
    const Outcome outcome = examine(matrix, space, 1);
    if (outcome != Outcome::good) return outcome;
    FillArgs one = args;
    one.seed = seed_of_product(args.seed, static_cast<unsigned>(i));
    for (int row = 0; row < args.rows; ++row) {
      for (int col = 0; col < args.cols; ++col) matrix.store(row, col, pattern_value(one, row, col, stride));
    }
  }
  return Outcome::good;
}

namespace {

void check_product_of(const CheckArgs& args, int index, const Matrix& d, CheckReport& report) {
  const int stride = check_stride(args.k);
  const unsigned seed = seed_of_product(args.seed, static_cast<unsigned>(index));
  for (int row = 0; row < args.m; ++row) {
    for (int col = 0; col < args.n; ++col) {
      const int product = args.k > 0 ? check_product(seed, row, col, args.k, stride) : 0;
      const int c = args.beta != 0 ? args.beta * check_value_c(seed, row, col) : 0;
      float expected = 0;  // as an element of D, of which one of 8 bits cannot have every integer
      const auto place = reinterpret_cast<std::uint64_t>(&expected);
      store_element(place, args.dtype, static_cast<float>(args.alpha * product + c));
      if (d.load(row, col) == load_element(place, args.dtype)) continue;  // NaN is not equal to anything
      ++report.mismatches;
      report.row = row;
      report.col = col;
      report.product = index;
    }
  }
}

}  // namespace

Outcome run_check(const CheckArgs& args, const AddressSpace& space) {
  if (args.report % alignof(CheckReport) != 0) return Outcome::misaligned_address;
  if (!space.contains(args.report, sizeof(CheckReport))) return Outcome::illegal_address;
  auto* report = reinterpret_cast<CheckReport*>(args.report);
  for (int product = 0; product < args.products; ++product) {
    const Matrix d{moved(args.d, product * args.stride_d, args.dtype), args.ldd, args.m, args.n, args.dtype};
    const Outcome outcome = examine(d, space, 1);
    if (outcome != Outcome::good) return outcome;
    check_product_of(args, product, d, *report);
  }
  return Outcome::good;
}

Outcome run_digest(const DigestArgs& args, const AddressSpace& space) {
  if (args.begin % kDigestChunkBytes != 0 || args.sum % sizeof(std::uint64_t) != 0) return Outcome::misaligned_address;
  if (!space.contains(args.begin, args.bytes) || !space.contains(args.sum, sizeof(std::uint64_t))) {
    return Outcome::illegal_address;
  }
  std::uint64_t sum = 0;
  for (std::uint64_t at = args.begin; at < args.begin + args.bytes; at += kDigestChunkBytes) {
    unsigned words[4];
    std::memcpy(words, reinterpret_cast<const void*>(at), sizeof words);
    sum += digest_chunk(args, at, words[0], words[1], words[2], words[3]);
  }
  *reinterpret_cast<std::uint64_t*>(args.sum) += sum;
  return Outcome::good;
}

Outcome run_pointwise(const PointwiseArgs& args, const AddressSpace& space) {
  if (args.begin % kPointwiseChunkBytes != 0) return Outcome::misaligned_address;
  if (!space.contains(args.begin, args.bytes)) return Outcome::illegal_address;
  return Outcome::good;  // nobody reads the numbers, and races launch it thousands of times
}

}  // namespace hotgemm::standin
