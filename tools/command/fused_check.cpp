#include "command/fused_check.hpp"

#include "config/work.hpp"
#include "emulate/epilogue_reference.hpp"
#include "emulate/number.hpp"
#include "shared/check_data.hpp"
#include "shared/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace hotgemm::command {
namespace {

constexpr float kAlpha = 0.125f;  // sums of check data have a standard deviation of about 12
constexpr std::int64_t kElements = std::int64_t{1} << 21;

template <class T>
T load(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

double number_at(const std::byte* at, DType type) {
  switch (type) {
    case DType::f16: return emulate::widen_f16(load<std::uint16_t>(at));
    case DType::bf16: return emulate::widen_bf16(load<std::uint16_t>(at));
    case DType::e4m3: return emulate::widen_e4m3(load<std::uint8_t>(at));
    case DType::e5m2: return emulate::widen_e5m2(load<std::uint8_t>(at));
    case DType::s8: return load<std::int8_t>(at);
    case DType::s32: return load<std::int32_t>(at);
    case DType::f32:
    case DType::tf32: break;
  }
  return load<float>(at);
}

/// The number that is stored for a result beyond the last element of `type`. f16 and wider types are not reached.
double saturated(double value, DType type) {
  switch (type) {
    case DType::e4m3: return std::clamp(value, -448.0, 448.0);
    case DType::e5m2: return std::clamp(value, -57344.0, 57344.0);
    case DType::s8: return std::clamp(value, -128.0, 127.0);
    default: return value;
  }
}

/// Numbers of device memory on the host.
class HostNumbers {
 public:
  HostNumbers(const Driver& driver, DType type) : driver_(driver), type_(type) {}
  HostNumbers(const Driver& driver, DType type, CUdeviceptr from, std::int64_t count) : HostNumbers(driver, type) {
    fetch(from, 0, count);
  }
  /// Replaces the numbers by `count` ones at element `first`. Fetches nothing from address 0.
  void fetch(CUdeviceptr from, std::int64_t first, std::int64_t count) {
    if (from == 0) return;
    const auto element = static_cast<std::size_t>(size_bytes(type_));
    bytes_.resize(static_cast<std::size_t>(count) * element);
    driver_.check(driver_.cuMemcpyDtoH(bytes_.data(), from + static_cast<CUdeviceptr>(first) * element, bytes_.size()),
                  "fetch numbers to check");
  }
  double at(std::int64_t index) const {
    return number_at(bytes_.data() + static_cast<std::size_t>(index * size_bytes(type_)), type_);
  }

 private:
  const Driver& driver_;
  DType type_;
  std::vector<std::byte> bytes_;
};

/// An auxiliary matrix on the host, row by row: of elements of D's type, or of bits.
class HostAuxiliary {
 public:
  HostAuxiliary(const Driver& driver, const Problem& problem)
      : numbers_(driver, problem.epilogue.bits ? DType::s8 : problem.types.d),
        has_bits_(problem.epilogue.bits),
        columns_(problem.n) {}

  void fetch_row(const EpilogueSet& set, std::int64_t row) {
    const std::int64_t unit = has_bits_ ? 8 : 1;  // elements of a number
    numbers_.fetch(set.auxiliary, row * set.ld_auxiliary / unit, (columns_ + unit - 1) / unit);
  }
  double at(std::int64_t col) const {
    if (!has_bits_) return numbers_.at(col);
    return static_cast<int>(numbers_.at(col / 8)) >> (col % 8) & 1;
  }

 private:
  HostNumbers numbers_;
  bool has_bits_;
  std::int64_t columns_;
};

/// The operands of a problem's epilogue on the host, and the right results.
class FusedReference {
 public:
  FusedReference(const Driver& driver, const Workload& problem, const OperandSet& set, unsigned seed)
      : problem_(problem),
        exact_(problem),
        set_(set),
        seed_(seed),
        scale_a_(driver, DType::f32, set.epilogue.scale_a,
                 count(problem.epilogue.scale_a, problem.m,
                       (scale_blocks(problem.k) - 1) * set.epilogue.ld_scale_a + problem.m)),
        scale_b_(driver, DType::f32, set.epilogue.scale_b,
                 count(problem.epilogue.scale_b, problem.n, scale_blocks(problem.n) * set.epilogue.ld_scale_b)),
        scale_d_(driver, DType::f32, set.epilogue.scale_d, 1),
        bias_(driver, bias_type(problem.types.d), set.epilogue.bias,
              problem.epilogue.bias == Bias::per_row ? problem.m : problem.n),
        residual_(driver, problem.types.d),
        auxiliary_(driver, problem) {
    // Sums of check data are exact in every type, so the error is that of the chain.
    exact_.types = uniform_types(DType::f32);
    exact_.types.d = problem.types.d;
    exact_.k = has_blocks() ? scale_blocks(problem.k) : 1;  // those of blocks are rounded when they are added
    exact_.epilogue.function = {};
  }

  void begin_row(std::int64_t row) {
    residual_.fetch(set_.epilogue.residual, row * set_.epilogue.ld_residual, columns_of_d(problem_));
    if (problem_.epilogue.reads_auxiliary()) auxiliary_.fetch_row(set_.epilogue, row);
  }
  emulate::FusedElement at(std::int64_t row, std::int64_t col) const {
    const Epilogue& e = problem_.epilogue;
    const int i = static_cast<int>(row), j = static_cast<int>(col);
    const GateColumns columns =
        e.is_gated() ? gate_columns(e.gate, j, static_cast<int>(columns_of_d(problem_))) : GateColumns{j, j};
    const auto [product, magnitude] = this->product(i, columns.gate);
    emulate::EpilogueElement at{.scale = scale(row, columns.gate), .bias = bias(row, columns.gate)};
    if (e.is_gated()) {
      const auto [other, of_other] = this->product(i, columns.other);
      at.other = {other, of_other, scale(row, columns.other), bias(row, columns.other)};
    }
    if (!problem_.hints.beta_is_zero) at.addend = check_value_c(seed_, i, j);
    if (e.residual) at.residual = residual_.at(col);
    if (e.reads_auxiliary()) at.auxiliary = auxiliary_.at(col);
    at.low = static_cast<double>(set_.epilogue.clamp_low), at.high = static_cast<double>(set_.epilogue.clamp_high);
    if (e.scale_d) at.scale_d = scale_d_.at(0);
    return emulate::fused_element(exact_, product, magnitude, double{kAlpha}, at);
  }

 private:
  struct Product {
    double value;
    double magnitude;  ///< the sum of its summands' absolute values, if blocks have scales
  };
  Product product(int row, int col) const {
    if (has_blocks()) return product_of_blocks(row, col);
    const int k = static_cast<int>(problem_.k);
    const double value = double{kAlpha} * check_product(seed_, row, col, k, check_stride(k));
    return {value, std::abs(value)};
  }
  /// The factors of scale_a and scale_b, and the bias, at an element of the product.
  double scale(std::int64_t row, std::int64_t col) const {
    const auto factor = [](const HostNumbers& numbers, Scaling scaling, std::int64_t index) {
      if (scaling == Scaling::none || scaling > Scaling::vector) return 1.0;  // those of blocks are in the product
      return numbers.at(is_vector(scaling) ? index : 0);
    };
    return factor(scale_a_, problem_.epilogue.scale_a, row) * factor(scale_b_, problem_.epilogue.scale_b, col);
  }
  double bias(std::int64_t row, std::int64_t col) const {
    const Bias kind = problem_.epilogue.bias;
    return kind == Bias::none ? 0 : bias_.at(kind == Bias::per_row ? row : col);
  }
  bool has_blocks() const { return problem_.epilogue.has_block_scales(); }
  Product product_of_blocks(int i, int j) const {
    const int k = static_cast<int>(problem_.k), stride = check_stride(k);
    Product product{};
    for (int l = check_first_k(seed_, i, stride); l < k; l += stride) {
      const std::int64_t block = l / kScaleBlock;
      const double term = double{kAlpha} * check_value_a(seed_, i, l, stride) * check_value_b(seed_, l, j) *
                          scale_a_.at(block * set_.epilogue.ld_scale_a + i) *
                          scale_b_.at(j / kScaleBlock * set_.epilogue.ld_scale_b + block);
      product.value += term;
      product.magnitude += std::abs(term);
    }
    return product;
  }
  static bool is_vector(Scaling scaling) { return scaling == Scaling::vector; }
  static std::int64_t count(Scaling scaling, std::int64_t all, std::int64_t of_blocks) {
    return scaling > Scaling::vector ? of_blocks : is_vector(scaling) ? all : 1;
  }

  const Workload& problem_;
  Problem exact_;
  const OperandSet& set_;
  unsigned seed_;
  HostNumbers scale_a_, scale_b_, scale_d_, bias_, residual_;
  HostAuxiliary auxiliary_;
};

/// A count of elements that are wrong, with one of them.
struct Mismatches {
  std::int64_t looked_at = 0;
  std::int64_t wrong = 0;
  std::string first;
  std::string where;  ///< of which product

  void look(const char* name, std::int64_t row, std::int64_t col, double found, double right, double gate) {
    ++looked_at;
    if (std::abs(found - right) <= gate) return;
    if (wrong++ == 0) first = fmt::format("{} at ({}, {}){} is {} instead of {}", name, row, col, where, found, right);
  }
};

/// The scales of blocks of one product: of groups of rows those of the group's rows of A, along k those of its k.
void move_scales(const Problem& p, std::int64_t product, OperandSet& set) {
  EpilogueSet& e = set.epilogue;
  std::int64_t a = product * scale_blocks(p.k) * e.ld_scale_a, b = product * scale_blocks(p.n) * e.ld_scale_b;
  if (set.group_kind == GroupKind::rows) a = product * p.m;
  if (set.group_kind == GroupKind::along_k) b = product * p.k / kScaleBlock, a = b * e.ld_scale_a;
  e.scale_a += static_cast<CUdeviceptr>(a) * sizeof(float);
  e.scale_b += static_cast<CUdeviceptr>(b) * sizeof(float);
}

/// The operands of one product of a batch, or of a group of rows.
OperandSet product_of(const Problem& p, OperandSet set, std::int64_t product) {
  const auto move = [&](CUdeviceptr& matrix, std::int64_t stride) {
    if (matrix != 0) matrix += static_cast<CUdeviceptr>(product * stride * size_bytes(p.types.d));
  };
  move(set.d, set.stride_d);
  move(set.epilogue.residual, set.epilogue.stride_residual);
  if (p.epilogue.bits) {
    set.epilogue.auxiliary += static_cast<CUdeviceptr>(product * set.epilogue.stride_auxiliary / 8);
  } else {
    move(set.epilogue.auxiliary, set.epilogue.stride_auxiliary);
  }
  if (p.epilogue.has_block_scales()) move_scales(p, product, set);
  if (set.group_kind != GroupKind::rows && set.group_kind != GroupKind::masked_rows) return set;
  const auto first = static_cast<CUdeviceptr>(product * p.m);  // row of the group
  if (p.epilogue.scale_a == Scaling::vector) set.epilogue.scale_a += first * sizeof(float);
  if (p.epilogue.bias == Bias::per_row)
    set.epilogue.bias += first * static_cast<CUdeviceptr>(size_bytes(bias_type(p.types.d)));
  return set;
}

/// The largest absolute value before scale_d of those that were looked at, and its error.
struct LargestSeen {
  double value = 0, gate = 0;
  bool is_of_all = true;  ///< of all elements
};

/// The sums of a gradient of the bias over the elements that were looked at, with their errors.
struct GradientSeen {
  std::vector<double> sums, gates;

  void add(std::int64_t index, const emulate::FusedElement& right) {
    const auto at = static_cast<std::size_t>(index);
    if (sums.size() <= at) sums.resize(at + 1), gates.resize(at + 1);
    sums[at] += right.unscaled;
    // In any order, the sum so far is rounded each time. Elements are as large as this one.
    gates[at] += right.unscaled_gate + 0x1p-20 * (std::abs(right.unscaled) + 1);
  }
};

/// Compares elements of the D and of the auxiliary output of a product.
void look_at(const Driver& driver, const Workload& problem, const OperandSet& set, unsigned seed,
             Mismatches& mismatches, LargestSeen& largest, GradientSeen& gradient) {
  const DType type = problem.types.d;
  FusedReference reference(driver, problem, set, seed);
  HostNumbers d(driver, type);
  HostAuxiliary auxiliary(driver, problem);
  // Odd, so that rows of all places in a tile have a turn.
  const std::int64_t columns = columns_of_d(problem);
  const std::int64_t step = (problem.batch * problem.m * columns / kElements) | 1;
  largest.is_of_all = step == 1;
  for (std::int64_t turn = 0; turn * step < problem.m + step - 1; ++turn) {
    const std::int64_t row = std::min(turn * step, problem.m - 1);
    reference.begin_row(row);
    d.fetch(set.d, row * set.ldd, columns);
    if (problem.epilogue.aux) auxiliary.fetch_row(set.epilogue, row);
    for (std::int64_t col = 0; col < columns; ++col) {
      const emulate::FusedElement right = reference.at(row, col);
      if (!problem.epilogue.has_function()) {
        mismatches.look("D", row, col, d.at(col), saturated(right.result, type), right.result_gate);
        largest.value = std::max(largest.value, std::abs(right.unscaled));
        largest.gate = std::max(largest.gate, right.unscaled_gate);
        if (problem.epilogue.bias_gradient != Bias::none)
          gradient.add(problem.epilogue.bias_gradient == Bias::per_row ? row : col, right);
      }
      if (!problem.epilogue.aux) continue;
      if (problem.epilogue.bits) {
        // A value that is nearer to 0 than its gate may have either bit.
        const bool is_certain = std::abs(right.auxiliary) > right.auxiliary_gate;
        if (is_certain) mismatches.look("the bit", row, col, auxiliary.at(col), right.auxiliary > 0 ? 1 : 0, 0);
        continue;
      }
      const GateColumns from = problem.epilogue.is_gated() ? gate_columns(problem.epilogue.gate, static_cast<int>(col),
                                                                          static_cast<int>(columns))
                                                           : GateColumns{static_cast<int>(col), static_cast<int>(col)};
      mismatches.look("the auxiliary output", row, from.gate, auxiliary.at(from.gate), saturated(right.auxiliary, type),
                      right.auxiliary_gate);
      if (problem.epilogue.is_gated()) {
        mismatches.look("the auxiliary output", row, from.other, auxiliary.at(from.other), saturated(right.other, type),
                        right.other_gate);
      }
    }
  }
}

}  // namespace

std::string check_fused(const Driver& driver, const CheckKernels& checks, const Workload& asked, const OperandSet& set,
                        unsigned seed, CUstream stream, const LaunchFused& launch) {
  const Workload problem = with_uniform_groups(asked);
  const float beta = problem.hints.beta_is_zero ? 0.0f : 1.0f;
  checks.fill_check(asked, set, seed, stream);
  checks.fill_epilogue(asked, set, kAlpha, beta, seed, stream);
  launch(kAlpha, beta);
  driver.check(driver.cuStreamSynchronize(stream), "run a fused kernel and check its result");
  Mismatches mismatches;
  LargestSeen largest;
  GradientSeen gradient;
  for (std::int64_t product = 0; product < problem.batch; ++product) {
    if (problem.batch > 1) mismatches.where = fmt::format(" of product {}", product);
    look_at(driver, problem, product_of(problem, set, product), seed_of_product(seed, static_cast<unsigned>(product)),
            mismatches, largest, gradient);
  }
  // Rows that were not looked at are missing in the sums over columns.
  if (mismatches.wrong == 0 && set.epilogue.bias_gradient != 0 &&
      (largest.is_of_all || problem.epilogue.bias_gradient == Bias::per_row)) {
    const auto count = static_cast<std::int64_t>(gradient.sums.size());
    const HostNumbers found(driver, DType::f32, set.epilogue.bias_gradient, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (gradient.sums[at] != 0)
        mismatches.look("the gradient of the bias", i, 0, found.at(i), gradient.sums[at], gradient.gates[at]);
    }
  }
  if (mismatches.wrong == 0 && problem.epilogue.amax && !problem.epilogue.has_function()) {
    const double amax = HostNumbers(driver, DType::f32, set.epilogue.amax, 1).at(0);
    const bool is_right =
        amax >= largest.value - largest.gate && (!largest.is_of_all || amax <= largest.value + largest.gate);
    if (!is_right) return fmt::format("amax is {} and an absolute value is {}", amax, largest.value);
  }
  if (mismatches.wrong == 0) return {};
  return fmt::format("{} of {} elements that were looked at are wrong: {}", mismatches.wrong, mismatches.looked_at,
                     mismatches.first);
}

}  // namespace hotgemm::command
