#pragma once

#include "emulate/epilogue_reference.hpp"
#include "shared/gate.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "standin/compute.hpp"
#include "standin/element.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace hotgemm::standin {

/// A matrix in memory.
struct Matrix {
  std::uint64_t address;
  long long ld;
  long long rows;
  long long cols;
  DType dtype;

  std::uint64_t at(long long row, long long col) const {
    return address + static_cast<std::uint64_t>(row * ld + col) * static_cast<std::uint64_t>(size_bytes(dtype));
  }
  float load(long long row, long long col) const { return load_element(at(row, col), dtype); }
  void store(long long row, long long col, float value) const { store_element(at(row, col), dtype, value); }
};

/// The operands of a fused kernel's epilogue.
class EpilogueOperands {
 public:
  EpilogueOperands(const GemmTraits& traits, const GemmArgs& args, const EpilogueArgs& epilogue,
                   const ExtraArgs& extras, unsigned product, Corruption corruption)
      : chain_(traits.epilogue),
        corruption_(corruption),
        gemm_(args),
        scale_a_(chain_.has_block_scales()
                     ? Matrix{epilogue.scale_a, extras.ld_scale_a, blocks(args.k), args.m, DType::f32}
                     : floats(epilogue.scale_a, chain_.scale_a != Scaling::none,
                              chain_.scale_a == Scaling::tensor ? 1 : args.m)),
        scale_b_(chain_.has_block_scales()
                     ? Matrix{epilogue.scale_b, extras.ld_scale_b, blocks(args.n), blocks(args.k), DType::f32}
                     : floats(epilogue.scale_b, chain_.scale_b != Scaling::none,
                              chain_.scale_b == Scaling::tensor ? 1 : args.n)),
        scale_d_(floats(epilogue.scale_d, chain_.scale_d, 1)),
        alpha_(floats(epilogue.alpha, epilogue.alpha != 0, 1)),
        beta_(floats(epilogue.beta, epilogue.beta != 0, 1)),
        bias_{epilogue.bias, 1, chain_.bias != Bias::none ? 1 : 0, chain_.bias == Bias::per_row ? args.m : args.n,
              bias_type(traits.element_d)},
        residual_{epilogue.residual, epilogue.ld_residual, chain_.residual ? args.m : 0, chain_.columns_of_d(args.n),
                  traits.element_d},
        auxiliary_{epilogue.auxiliary, epilogue.ld_auxiliary / (chain_.bits ? 8 : 1),
                   chain_.has_auxiliary() ? args.m : 0, chain_.bits ? (args.n + 7) / 8 : args.n,
                   chain_.bits ? DType::s8 : traits.element_d},
        amax_(floats(extras.amax, chain_.amax, 1)),
        bias_gradient_(floats(extras.bias_gradient, chain_.bias_gradient != Bias::none,
                              chain_.bias_gradient == Bias::per_row ? args.m : args.n)),
        low_(extras.low),
        high_(extras.high),
        product_(product) {
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      const FunctionOperand kind = chain_.function.operand(i);
      const long long columns = chain_.columns_of_d(args.n);
      const long long count = kind == FunctionOperand::row ? args.m : kind == FunctionOperand::column ? columns : 1;
      operands_[i] = kind == FunctionOperand::matrix
                         ? Matrix{extras.operands[i], extras.ld[i], args.m, columns, traits.element_d}
                         : floats(extras.operands[i], kind != FunctionOperand::none, count);
    }
  }

  /// All operands, with the elements of an access to each.
  std::vector<std::pair<Matrix, int>> all(int vector) const {
    std::vector<std::pair<Matrix, int>> all{{scale_a_, 1}, {scale_b_, 1}, {scale_d_, 1},       {alpha_, 1},
                                            {beta_, 1},    {bias_, 1},    {residual_, vector}, {auxiliary_, vector}};
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) all.emplace_back(operands_[i], is_matrix(i) ? vector : 1);
    return all;
  }
  float alpha() const { return alpha_.rows > 0 ? alpha_.load(0, 0) : gemm_.alpha; }
  float beta() const { return beta_.rows > 0 ? beta_.load(0, 0) : gemm_.beta; }
  /// The scales of blocks of the elements of A and B at `l` of k; 1 if blocks have none.
  float of_a(int row, int l) const { return chain_.has_block_scales() ? scale_a_.load(l / kScaleBlock, row) : 1; }
  float of_b(int l, int col) const {
    return chain_.has_block_scales() ? scale_b_.load(col / kScaleBlock, l / kScaleBlock) : 1;
  }
  float scale(int row, int col) const {
    if (chain_.has_block_scales()) return 1;
    const float a = scale_a_.rows > 0 ? scale_a_.load(0, chain_.scale_a == Scaling::tensor ? 0 : row) : 1;
    const float b = scale_b_.rows > 0 ? scale_b_.load(0, chain_.scale_b == Scaling::tensor ? 0 : col) : 1;
    return a * b;
  }
  /// `value` = alpha * scales * sum + beta * C of an element of the product, and the bias.
  float biased(float value, int row, int col) const {
    if (chain_.bias == Bias::none) return value;
    const long long at = chain_.bias == Bias::per_row ? row : col;
    return value + bias_.load(0, corruption_ == Corruption::next_bias ? (at + 1) % bias_.cols : at);
  }
  /// Stores such a value of a column of the product, if it is an auxiliary output.
  void keep(float value, int row, int col) const {
    if (chain_.writes_bits()) {
      store_bit(row, col, value >= 0);
    } else if (chain_.aux) {
      auxiliary_.store(row, col, value);
    }
  }
  /// The element of D, not rounded, from such a value, which it multiplies by `factor`: with a gate the value of the
  /// other column, else 1.
  float finish(float value, float factor, int row, int col) const {
    if (chain_.has_function()) {
      emulate::FunctionPoint point{.row = row, .column = col, .batch = product_};
      for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
        const FunctionOperand kind = chain_.function.operand(i);
        const long long at = kind == FunctionOperand::scalar ? 0 : kind == FunctionOperand::row ? row : col;
        if (kind == FunctionOperand::none) continue;
        point.operands[i] = static_cast<double>(operands_[i].load(is_matrix(i) ? row : 0, at));
      }
      value = static_cast<float>(emulate::host_function(chain_.function).at(static_cast<double>(value), point));
    } else if (chain_.reads_auxiliary() && corruption_ != Corruption::no_activation) {
      const auto at = chain_.bits ? load_bit(row, col) : static_cast<double>(auxiliary_.load(row, col));
      value = static_cast<float>(static_cast<double>(value) * emulate::slope(chain_.activation, at));
    } else if (corruption_ != Corruption::no_activation) {
      value = static_cast<float>(emulate::activated(chain_.activation, static_cast<double>(value),
                                                    static_cast<double>(low_), static_cast<double>(high_)));
    }
    value *= factor;
    if (chain_.residual) value += residual_.load(row, col);
    if (chain_.amax && corruption_ != Corruption::no_amax)
      amax_.store(0, 0, std::max(amax_.load(0, 0), std::abs(value)));
    if (chain_.bias_gradient != Bias::none) {
      const long long at = chain_.bias_gradient == Bias::per_row ? row : col;
      bias_gradient_.store(0, at, bias_gradient_.load(0, at) + value);
    }
    if (chain_.scale_d) value *= scale_d_.load(0, 0);
    return value;
  }

 private:
  /// The byte with a bit of the auxiliary matrix.
  std::uint8_t& byte_of_bit(int row, int col) const {
    return *reinterpret_cast<std::uint8_t*>(auxiliary_.at(row, col / 8));
  }
  double load_bit(int row, int col) const { return byte_of_bit(row, col) >> (col % 8) & 1; }
  void store_bit(int row, int col, bool bit) const {
    std::uint8_t& byte = byte_of_bit(row, col);
    byte = static_cast<std::uint8_t>((byte & ~(1u << (col % 8))) | (bit ? 1u : 0u) << (col % 8));
  }

  bool is_matrix(int operand) const { return chain_.function.operand(operand) == FunctionOperand::matrix; }
  static long long blocks(int elements) { return (elements + kScaleBlock - 1) / kScaleBlock; }
  static Matrix floats(std::uint64_t address, bool is_read, long long count) {
    return {address, count, is_read ? 1 : 0, count, DType::f32};
  }

  Epilogue chain_;
  Corruption corruption_;
  const GemmArgs& gemm_;
  Matrix scale_a_, scale_b_, scale_d_, alpha_, beta_, bias_, residual_, auxiliary_;
  Matrix operands_[EpilogueFunction::kMostOperands]{};
  Matrix amax_, bias_gradient_;
  float low_, high_;
  unsigned product_;
};

}  // namespace hotgemm::standin
