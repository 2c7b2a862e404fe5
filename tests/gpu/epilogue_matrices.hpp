#pragma once

#include "config/work.hpp"
#include "emulate/epilogue_reference.hpp"
#include "gpu/guarded_matrix.hpp"
#include "shared/gate.hpp"

#include <hotgemm/operands.hpp>
#include <hotgemm/problem.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace hotgemm {

/// The operands of a problem's epilogue in device memory. Vectors are one row, and begin at the least aligned address
/// that their elements have. Matrices have rows of more than `ld` elements, unless the residual is D.
class EpilogueMatrices {
 public:
  EpilogueMatrices(const Driver& driver, const Problem& p, std::int64_t ld, int offset, bool residual_is_d)
      : problem_(p),
        ld_residual_(residual_is_d ? ld : ld + kMoreOfResidual),
        ld_auxiliary_(p.epilogue.bits ? (p.n / kBitRowUnit + 2) * kBitRowUnit
                                      : ld * (p.epilogue.is_gated() ? 2 : 1) + kMoreOfAuxiliary),
        residual_is_d_(residual_is_d) {
    const Epilogue& e = p.epilogue;
    const auto vector = [&](std::optional<GuardedMatrix>& to, bool is_there, DType type, std::int64_t count) {
      if (is_there) to.emplace(driver, type, 1, count, count, 1, GuardedMatrix::Filling::nan);
    };
    const auto scales = [&](std::optional<GuardedMatrix>& to, Scaling scaling, std::int64_t all) {
      vector(to, scaling != Scaling::none, DType::f32, scaling == Scaling::tensor ? 1 : all);
    };
    if (e.has_block_scales()) {
      const std::int64_t blocks = scale_blocks(p.k);
      const auto rows = [&](std::optional<GuardedMatrix>& to, std::int64_t count, std::int64_t cols) {
        if (count > 0 && cols > 0)
          to.emplace(driver, DType::f32, count, cols, cols + kMoreOfScales, 1, GuardedMatrix::Filling::nan);
      };
      rows(scale_a_, blocks, p.m);
      rows(scale_b_, scale_blocks(p.n), blocks);
    } else {
      scales(scale_a_, e.scale_a, p.m);
      scales(scale_b_, e.scale_b, p.n);
    }
    vector(scale_d_, e.scale_d, DType::f32, 1);
    vector(scalars_, e.scalars, DType::f32, 2);
    vector(amax_, e.amax, DType::f32, 1);
    vector(gradient_, e.bias_gradient != Bias::none, DType::f32, e.bias_gradient == Bias::per_row ? p.m : p.n);
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      const FunctionOperand kind = e.function.operand(i);
      const std::int64_t count = kind == FunctionOperand::row      ? p.m
                                 : kind == FunctionOperand::column ? columns_of_d(p)
                                                                   : 1;
      vector(operands_[i], kind != FunctionOperand::none && !is_matrix(i), DType::f32, count);
    }
    vector(bias_, e.bias != Bias::none, bias_type(p.types.d), e.bias == Bias::per_row ? p.m : p.n);
    const auto matrix = [&](std::optional<GuardedMatrix>& to, bool is_there, std::int64_t row,
                            GuardedMatrix::Filling filling, std::int64_t columns) {
      if (is_there) to.emplace(driver, p.types.d, p.m, columns, row, offset, filling);
    };
    const std::int64_t of_d = columns_of_d(p);
    matrix(residual_, e.residual && !residual_is_d, ld_residual_, GuardedMatrix::Filling::nan, of_d);
    const auto filling = e.aux ? GuardedMatrix::Filling::noise : GuardedMatrix::Filling::nan;
    if (e.bits) {  // as bytes
      auxiliary_.emplace(driver, DType::s8, p.m, (p.n + 7) / 8, ld_auxiliary_ / 8, 0, filling);
    } else {
      matrix(auxiliary_, e.has_auxiliary(), ld_auxiliary_, filling, p.n);
    }
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i)
      matrix(operands_[i], is_matrix(i), ld_of_operand(i), GuardedMatrix::Filling::nan, of_d);
  }

  /// Scales become powers of two of either sign, which keep sums exact. `value` gives the other elements.
  template <class Value>
  void fill(std::mt19937& random, Value&& value, float alpha, float beta) {
    const auto power = [&](auto, auto) {
      return std::ldexp(random() % 2 == 0 ? 1.0f : -1.0f, static_cast<int>(random() % 3) - 1);
    };
    for (auto* const scales : {&scale_a_, &scale_b_, &scale_d_}) {
      if (*scales) (*scales)->fill(power);
    }
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      if (operands_[i] && !is_matrix(i)) operands_[i]->fill(power);
      if (operands_[i] && is_matrix(i)) operands_[i]->fill(value);
    }
    for (auto* const operand : {&bias_, &residual_}) {
      if (*operand) (*operand)->fill(value);
    }
    if (problem_.epilogue.bits) {
      auxiliary_->fill([&](auto, auto) { return static_cast<float>(static_cast<int>(random() % 256) - 128); });
    } else if (problem_.epilogue.reads_auxiliary()) {
      auxiliary_->fill(value);
    }
    if (gradient_) gradient_->fill(value);
    if (amax_) amax_->fill([](auto, auto) { return 0.0f; });
    if (scalars_) scalars_->fill([&](auto, auto col) { return col == 0 ? alpha : beta; });
  }

  /// Sets the fields of the operands. With scalars, those on the host become wrong.
  void add_to(Operands& o) const {
    const auto floats = [](const std::optional<GuardedMatrix>& vector) {
      return vector ? static_cast<const float*>(vector->device()) : nullptr;
    };
    o.scale_a = floats(scale_a_), o.scale_b = floats(scale_b_), o.scale_d = floats(scale_d_);
    if (problem_.epilogue.has_block_scales()) {
      o.ld_scale_a = problem_.m + kMoreOfScales, o.ld_scale_b = scale_blocks(problem_.k) + kMoreOfScales;
    }
    if (bias_) o.bias = bias_->device();
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      if (operands_[i]) o.function_operands[i] = operands_[i]->device();
      if (is_matrix(i)) o.ld_function_operands[i] = ld_of_operand(i);
    }
    if (problem_.epilogue.residual) {
      o.residual = residual_is_d_ ? o.d : residual_->device();
      o.ld_residual = ld_residual_;
    }
    if (auxiliary_) o.auxiliary = auxiliary_->device(), o.ld_auxiliary = ld_auxiliary_;
    if (problem_.epilogue.has_clamp()) o.clamp_low = kLow, o.clamp_high = kHigh;
    if (amax_) o.amax = static_cast<float*>(amax_->device());
    if (gradient_) o.bias_gradient = static_cast<float*>(gradient_->device());
    if (!scalars_) return;
    o.alpha_device = floats(scalars_);
    if (o.beta != 0) o.beta_device = o.alpha_device + 1;
    o.alpha = 77;
    if (o.beta != 0) o.beta = 77;
  }

  void upload(CUstream stream) const {
    for_each([&](const char*, const GuardedMatrix& matrix) { matrix.upload(stream); });
    if (problem_.epilogue.aux) auxiliary_->upload(stream);
    if (amax_) amax_->upload(stream);
    if (gradient_) gradient_->upload(stream);
  }
  void download(CUstream stream) {
    if (problem_.epilogue.aux) found_ = auxiliary_->download(stream);
    if (amax_) found_amax_ = amax_->download(stream);
    if (gradient_) found_gradient_ = gradient_->download(stream);
  }

  /// Names the first operand that the kernel must not have written, and has. Empty if there is none.
  std::string stray_write(CUstream stream) const {
    std::string found;
    for_each([&](const char* name, const GuardedMatrix& matrix) {
      const std::string change = matrix.change(matrix.download(stream));
      if (found.empty() && !change.empty()) found = std::string(name) + " was written: " + change;
    });
    if (found.empty() && gradient_ && !gradient_->change_around(found_gradient_).empty())
      return "written beside the gradient of the bias";
    if (found.empty() && amax_ && !amax_->change_around(found_amax_).empty()) return "written beside amax";
    if (!found.empty() || !problem_.epilogue.aux) return found;
    const std::string change = auxiliary_->change_around(found_);
    return change.empty() ? change : "written outside of the auxiliary output: " + change;
  }

  /// The operands at an element of D; the residual is that of `d` if it is D.
  /// `columns` are those of the product from which column j is made; without a gate both are j.
  emulate::EpilogueElement at(std::size_t i, std::size_t j, const GateColumns& columns, double addend,
                              const GuardedMatrix& d) const {
    const Epilogue& e = problem_.epilogue;
    const auto scale = [](const std::optional<GuardedMatrix>& scales, Scaling scaling, std::size_t index) {
      if (!scales || scaling > Scaling::vector) return 1.0;  // those of blocks are in the sum
      return static_cast<double>(scales->get(0, scaling == Scaling::tensor ? 0 : index));
    };
    const auto factor = [&](int column) {
      return scale(scale_a_, e.scale_a, i) * scale(scale_b_, e.scale_b, static_cast<std::size_t>(column));
    };
    const auto bias = [&](int column) {
      const std::size_t index = e.bias == Bias::per_row ? i : static_cast<std::size_t>(column);
      return bias_ ? static_cast<double>(bias_->get(0, index)) : 0;
    };
    emulate::EpilogueElement at{.scale = factor(columns.gate), .addend = addend, .bias = bias(columns.gate)};
    at.other.scale = factor(columns.other), at.other.bias = bias(columns.other);
    if (e.residual) at.residual = static_cast<double>((residual_ ? *residual_ : d).get(i, j));
    if (e.reads_bits()) {
      at.auxiliary = bit_of(auxiliary_->get(i, j / 8), j);
    } else if (e.reads_auxiliary()) {
      at.auxiliary = static_cast<double>(auxiliary_->get(i, j));
    }
    if (scale_d_) at.scale_d = static_cast<double>(scale_d_->get(0, 0));
    at.low = kLow, at.high = kHigh;
    at.point = {.row = static_cast<std::int64_t>(i), .column = static_cast<std::int64_t>(j)};
    for (int o = 0; o < EpilogueFunction::kMostOperands; ++o) {
      const FunctionOperand kind = e.function.operand(o);
      const std::size_t index = kind == FunctionOperand::scalar ? 0 : kind == FunctionOperand::row ? i : j;
      if (operands_[o]) at.point.operands[o] = static_cast<double>(operands_[o]->get(is_matrix(o) ? i : 0, index));
    }
    return at;
  }

  /// The scales of the blocks with element (i, l) of op(A) and (l, j) of op(B), multiplied; 1 if blocks have none.
  double of_blocks(std::size_t i, std::size_t j, std::size_t l) const {
    if (!problem_.epilogue.has_block_scales()) return 1;
    const std::size_t block = l / kScaleBlock;
    return static_cast<double>(scale_a_->get(block, i)) * static_cast<double>(scale_b_->get(j / kScaleBlock, block));
  }

  /// The element of the auxiliary output, or its bit as 0 or 1.
  float auxiliary(std::size_t i, std::size_t j) const {
    if (problem_.epilogue.bits) return bit_of(auxiliary_->get(found_, i, j / 8), j);
    return auxiliary_->get(found_, i, j);
  }
  /// The value that was added to number `index` of the gradient of the bias.
  double added_to_gradient(std::size_t index) const {
    return static_cast<double>(gradient_->get(found_gradient_, 0, index)) -
           static_cast<double>(gradient_->get(0, index));
  }
  float amax() const { return amax_->get(found_amax_, 0, 0); }

 private:
  // So that rows of no two matrices are equally long, and all begin at multiples of 16 bytes if those of D do.
  static constexpr std::int64_t kMoreOfResidual = 16, kMoreOfAuxiliary = 32;
  static constexpr std::int64_t kMoreOfScales = 3;

  static constexpr float kLow = -3, kHigh = 2;

  /// Bit `col` % 8 of a byte that is given as s8.
  static float bit_of(float byte, std::size_t col) {
    return static_cast<float>(static_cast<int>(byte) >> (col % 8) & 1);
  }
  bool is_matrix(int operand) const { return problem_.epilogue.function.operand(operand) == FunctionOperand::matrix; }
  std::int64_t ld_of_operand(int i) const { return ld_auxiliary_ + 16 * (i + 1); }

  /// All operands that are only read.
  template <class Use>
  void for_each(Use&& use) const {
    const auto one = [&](const char* name, const std::optional<GuardedMatrix>& matrix) {
      if (matrix) use(name, *matrix);
    };
    one("scale_a", scale_a_);
    one("scale_b", scale_b_);
    one("scale_d", scale_d_);
    one("the scalars", scalars_);
    one("the bias", bias_);
    one("the residual", residual_);
    if (problem_.epilogue.reads_auxiliary()) one("the auxiliary matrix", auxiliary_);
    for (const auto& operand : operands_) one("an operand of the function", operand);
  }

  Problem problem_;
  std::int64_t ld_residual_, ld_auxiliary_;
  bool residual_is_d_;
  std::optional<GuardedMatrix> scale_a_, scale_b_, scale_d_, scalars_, bias_, residual_, auxiliary_, amax_, gradient_;
  std::optional<GuardedMatrix> operands_[EpilogueFunction::kMostOperands];
  Bytes found_, found_amax_, found_gradient_;
};

}  // namespace hotgemm
