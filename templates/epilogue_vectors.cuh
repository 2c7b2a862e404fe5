#pragma once

// The vectors of an epilogue: factors, biases and a function's operands, of rows and of columns. The compiler does not
// merge loads that are inline assembly. So a lane loads once for its pair, or a warp holds the elements for a part of a
// tile.

#include "element_access.cuh"
#include "held_relu_bits.cuh"
#include "ptx/element.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "relu_bits.cuh"
#include "shared/fragment.hpp"
#include "shared/gate.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"  // min_of

namespace hotgemm {

/// The elements of the vectors along one dimension for one row, or for one column of the product.
struct VectorElements {
  float scale;
  float bias;
  float operands[EpilogueFunction::kMostOperands];  ///< of the user's function
};

/// The elements for an element of D, and its bit of ReLU if the epilogue reads it. With a gate `column` is that of the
/// gate, and `other` the one that it multiplies.
struct ElementVectors {
  VectorElements row;
  VectorElements column;
  VectorElements other;
  bool bit;
};
struct PairVectors {
  ElementVectors first;
  ElementVectors second;
};

/// The addresses of the vectors. `Extras` is ExtraArgs, or an empty struct.
template <class Extras>
struct VectorSource {
  const EpilogueArgs& args;
  const Extras& extras;
};

template <GemmTraits kTraits, Neighbours kNeighbours>
class EpilogueVectors {
  static constexpr Epilogue kEpilogue = kTraits.epilogue;
  static constexpr DType kBias = bias_type(kTraits.element_d);
  static constexpr bool kPairsDown = kNeighbours == Neighbours::down;
  static constexpr int kMostOperands = EpilogueFunction::kMostOperands;
  static constexpr bool is_operand(int index, FunctionOperand kind) {
    return kEpilogue.has_function() && kEpilogue.function.operand(index) == kind;
  }
  static constexpr bool has_operand() {
    for (int i = 0; i < kMostOperands; ++i) {
      if (is_operand(i, FunctionOperand::row) || is_operand(i, FunctionOperand::column)) return true;
    }
    return false;
  }
  static constexpr bool kHasAny = kEpilogue.scale_a == Scaling::vector || kEpilogue.scale_b == Scaling::vector ||
                                  kEpilogue.bias != Bias::none || kEpilogue.reads_bits() || has_operand();

 public:
  /// True if a warp can hold the elements for 16 rows and 64 columns, or for 64 rows and 16 columns if pairs go down.
  static constexpr bool kHolds = kHasAny && kNeighbours != Neighbours::none && size_bytes(kTraits.element_d) == 2 &&
                                 kEpilogue.gate != Gate::interleaved;

  /// No element is loaded before an object is made, or before the last call of begin_part.
  EpilogueVectors() = default;
  HOTGEMM_DEVICE void begin_part() { here_ = ptx::unchanged_from_here(0); }

  /// An f32 of a vector, or 0 if there is none.
  HOTGEMM_DEVICE float number(u64 vector, int index, bool is_there = true) const {
    return ptx::float_of(ptx::ld_global_unchanged_b32_if(address(vector, index, 4), is_there));
  }

  /// See FusedSum::prefetch.
  template <class Source>
  static HOTGEMM_DEVICE void prefetch(const Source& source, const GemmArgs& gemm, Element2d tile, Element2d extent,
                                      int lane) {
    const EpilogueArgs& args = source.args;
    const int rows = min_of(extent.row, gemm.m - tile.row), cols = min_of(extent.col, gemm.n - tile.col);
    constexpr int kBiasBytes = size_bytes(kBias);
    if constexpr (kEpilogue.scale_a == Scaling::vector) prefetch_lines(args.scale_a, tile.row, rows, 4, lane);
    if constexpr (kEpilogue.scale_b == Scaling::vector) prefetch_columns(gemm, args.scale_b, tile.col, cols, 4, lane);
    if constexpr (kEpilogue.bias == Bias::per_column)
      prefetch_columns(gemm, args.bias, tile.col, cols, kBiasBytes, lane);
    if constexpr (kEpilogue.bias == Bias::per_row) prefetch_lines(args.bias, tile.row, rows, kBiasBytes, lane);
    if constexpr (has_operand()) {
#pragma unroll
      for (int i = 0; i < kMostOperands; ++i) {
        const u64 vector = source.extras.operands[i];
        if (is_operand(i, FunctionOperand::row)) prefetch_lines(vector, tile.row, rows, 4, lane);
        if (is_operand(i, FunctionOperand::column)) prefetch_lines(vector, tile.col, cols, 4, lane);
      }
    }
  }

  /// The elements for the element of D at `at`. A row or a column that is not there has none.
  template <class Source>
  HOTGEMM_DEVICE ElementVectors at(const Source& source, const GemmArgs& gemm, Element2d at) const {
    ElementVectors elements = {};
    elements.row = of_row(source, at.row, at.row < gemm.m);
    set_columns(elements, source, gemm, at.col);
    elements.bit = bit(source, gemm, at);
    return elements;
  }
  /// The elements for a pair, of which the second is at `next`.
  template <class Source>
  HOTGEMM_DEVICE PairVectors at_pair(const Source& source, const GemmArgs& gemm, Element2d at, Element2d next) const {
    PairVectors pair = {this->at(source, gemm, at), {}};
    pair.second = pair.first;
    if constexpr (kPairsDown) {
      pair.second.row = of_row(source, next.row, next.row < gemm.m);
    } else {
      set_columns(pair.second, source, gemm, next.col);
    }
    pair.second.bit = bit(source, gemm, next);
    return pair;
  }

  /// Loads the elements for the part of D that begins at `first`. Called by all lanes of a warp. Their pairs lie in the
  /// part as in an accumulator. With kHolds.
  template <class Source>
  HOTGEMM_DEVICE void hold(const Source& source, const GemmArgs& gemm, Element2d first) {
    const int lane = ptx::thread_index() % kWarpSize, across = lane / 4, along = 2 * lane;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first.row + across + 8 * half, col = first.col + across + 8 * half;
      own_[half] = kPairsDown ? of_column(source, col, col, col < gemm.n) : of_row(source, row, row < gemm.m);
    }
    if constexpr (kEpilogue.reads_bits())
      bits_.load(source.args.auxiliary + here_, source.args.ld_auxiliary, first, {gemm.m, gemm.n});
    if constexpr (kPairsDown) {
      dealt_[0] = adjacent<true>(source, first.row + along, 0, gemm.m);
    } else {
      dealt_[0] = adjacent<false>(source, first.col + along, 0, gemm.n);
      if constexpr (kEpilogue.is_gated()) dealt_[1] = adjacent<false>(source, first.col + along, gemm.n, gemm.n);
    }
  }
  /// The elements for pair `number` of group `group` of the part (FusedSum::begin_pair). Called by all lanes.
  HOTGEMM_DEVICE PairVectors held(int group, int number) const {
    const auto lane = static_cast<u32>(holding_lane(ptx::thread_index() % kWarpSize, group, number));
    const VectorElements& across = own_[number % 2];
    PairVectors pair = {};
    if constexpr (kPairsDown) {
      pair.first.column = pair.second.column = across;
      from_lane<true>(dealt_[0], lane, pair.first.row, pair.second.row);
    } else {
      pair.first.row = pair.second.row = across;
      from_lane<false>(dealt_[0], lane, pair.first.column, pair.second.column);
      if constexpr (kEpilogue.is_gated()) from_lane<false>(dealt_[1], lane, pair.first.other, pair.second.other);
    }
    if constexpr (kEpilogue.reads_bits()) bits_.get(group, number, pair.first.bit, pair.second.bit);
    return pair;
  }

 private:
  template <bool kOfRows>
  static constexpr bool kHasScale = (kOfRows ? kEpilogue.scale_a : kEpilogue.scale_b) == Scaling::vector;
  template <bool kOfRows>
  static constexpr bool kHasBias = kEpilogue.bias == (kOfRows ? Bias::per_row : Bias::per_column);

  template <class Source>
  HOTGEMM_DEVICE VectorElements of_row(const Source& source, int row, bool is_there) const {
    VectorElements elements = {};
    if constexpr (kHasScale<true>) elements.scale = number(source.args.scale_a, row, is_there);
    if constexpr (kHasBias<true>) elements.bias = bias(source.args.bias, row, is_there);
    set_operands<FunctionOperand::row>(elements, source, row, is_there);
    return elements;
  }
  /// The scale and the bias for column `col` of the product, and the function's operands for column `of_d` of D.
  template <class Source>
  HOTGEMM_DEVICE VectorElements of_column(const Source& source, int col, int of_d, bool is_there) const {
    VectorElements elements = {};
    if constexpr (kHasScale<false>) elements.scale = number(source.args.scale_b, col, is_there);
    if constexpr (kHasBias<false>) elements.bias = bias(source.args.bias, col, is_there);
    set_operands<FunctionOperand::column>(elements, source, of_d, is_there);
    return elements;
  }
  template <FunctionOperand kKind, class Source>
  HOTGEMM_DEVICE void set_operands(VectorElements& elements, const Source& source, int index, bool is_there) const {
    if constexpr (has_operand()) {
#pragma unroll
      for (int i = 0; i < kMostOperands; ++i) {
        if (is_operand(i, kKind)) elements.operands[i] = number(source.extras.operands[i], index, is_there);
      }
    }
  }
  template <class Source>
  HOTGEMM_DEVICE bool bit(const Source& source, const GemmArgs& gemm, Element2d at) const {
    if constexpr (!kEpilogue.reads_bits()) return false;
    const bool is_there = at.row < gemm.m && at.col < gemm.n;
    return load_relu_bit(source.args.auxiliary + here_, source.args.ld_auxiliary, at, is_there);
  }
  template <class Source>
  HOTGEMM_DEVICE void set_columns(ElementVectors& elements, const Source& source, const GemmArgs& gemm, int col) const {
    const bool is_there = col < gemm.n;
    if constexpr (kEpilogue.is_gated()) {
      const GateColumns columns = gate_columns(kEpilogue.gate, col, gemm.n);
      elements.column = of_column(source, columns.gate, col, is_there);
      elements.other = of_column(source, columns.other, col, is_there);
    } else {
      elements.column = of_column(source, col, col, is_there);
    }
  }

  HOTGEMM_DEVICE float bias(u64 vector, int index, bool is_there) const {
    if constexpr (size_bytes(kBias) == 4) {
      return number(vector, index, is_there);
    } else {
      return ptx::widen<kBias>(static_cast<u16>(bias_bits(vector, index, is_there)));
    }
  }
  HOTGEMM_DEVICE u32 bias_bits(u64 vector, int index, bool is_there) const {
    return ptx::ld_global_unchanged_u16_if(address(vector, index, 2), is_there);
  }
  HOTGEMM_DEVICE u64 address(u64 vector, int index, int bytes) const {
    return vector + here_ + static_cast<u64>(static_cast<i64>(index) * bytes);
  }

  /// Prefetches the elements of a vector over the product's columns for `count` columns of D from number `first` on.
  static HOTGEMM_DEVICE void prefetch_columns(const GemmArgs& gemm, u64 vector, int first, int count, int bytes,
                                              int lane) {
    if constexpr (kEpilogue.gate == Gate::interleaved) {
      prefetch_lines(vector, 2 * first, 2 * count, bytes, lane);
    } else {
      prefetch_lines(vector, first, count, bytes, lane);
      if constexpr (kEpilogue.is_gated()) prefetch_lines(vector, gemm.n + first, count, bytes, lane);
    }
  }
  /// Prefetches `count` elements of a vector from number `first` on. The vector may begin within a line, so one more
  /// line than they fill is asked for: that of the last element.
  static HOTGEMM_DEVICE void prefetch_lines(u64 vector, int first, int count, int bytes, int lane) {
    constexpr int kLineBytes = 128;
    const int step = kLineBytes / bytes;
    if (count <= 0) return;
    for (int at = lane * step; at < count + step - 1; at += kWarpSize * step) {
      const auto index = static_cast<u64>(first + min_of(at, count - 1));
      ptx::prefetch_global_l1(vector + index * static_cast<u64>(bytes), static_cast<u32>(bytes));
    }
  }

  /// The elements of two neighbouring rows, or columns.
  struct Adjacent {
    float scale[2];
    u32 bias;  // of 16 bits each
    float operands[kMostOperands][2];
  };
  template <bool kOfRows>
  static constexpr FunctionOperand kOperand = kOfRows ? FunctionOperand::row : FunctionOperand::column;

  /// Loads elements `index` and `index` + 1; 0 from `end` on. Scales and biases are read `skipped` elements further on.
  template <bool kOfRows, class Source>
  HOTGEMM_DEVICE Adjacent adjacent(const Source& source, int index, int skipped, int end) const {
    const bool has_first = index < end, has_second = index + 1 < end;
    const int at = index + skipped;
    Adjacent both = {};
    if constexpr (kHasScale<kOfRows>) {
      const u64 vector = kOfRows ? source.args.scale_a : source.args.scale_b;
      both.scale[0] = number(vector, at, has_first);
      both.scale[1] = number(vector, at + 1, has_second);
    }
    if constexpr (kHasBias<kOfRows>) {
      const u64 vector = source.args.bias;
      both.bias = bias_bits(vector, at, has_first) | bias_bits(vector, at + 1, has_second) << 16;
    }
    if constexpr (has_operand()) {
#pragma unroll
      for (int i = 0; i < kMostOperands; ++i) {
        if (!is_operand(i, kOperand<kOfRows>)) continue;
        both.operands[i][0] = number(source.extras.operands[i], index, has_first);
        both.operands[i][1] = number(source.extras.operands[i], index + 1, has_second);
      }
    }
    return both;
  }
  /// The elements that `lane` holds.
  template <bool kOfRows>
  static HOTGEMM_DEVICE void from_lane(const Adjacent& held, u32 lane, VectorElements& first, VectorElements& second) {
    const auto word = [&](u32 own) { return ptx::shfl_sync_idx_b32(own, lane, 31, ~0u); };
    const auto number = [&](float own) { return ptx::float_of(word(ptx::bits_of(own))); };
    if constexpr (kHasScale<kOfRows>) {
      first.scale = number(held.scale[0]);
      second.scale = number(held.scale[1]);
    }
    if constexpr (kHasBias<kOfRows>) {
      const u32 both = word(held.bias);
      first.bias = ptx::widen<kBias>(static_cast<u16>(both));
      second.bias = ptx::widen_upper<kBias>(both);
    }
    if constexpr (has_operand()) {
#pragma unroll
      for (int i = 0; i < kMostOperands; ++i) {
        if (!is_operand(i, kOperand<kOfRows>)) continue;
        first.operands[i] = number(held.operands[i][0]);
        second.operands[i] = number(held.operands[i][1]);
      }
    }
  }

  u64 here_ = ptx::unchanged_from_here(0);  // 0: no address that contains it is loaded before
  VectorElements own_[2] = {};              // of the lane's rows g and g + 8; if pairs go down, of its columns
  HeldReluBits<kNeighbours> bits_;
  Adjacent dealt_[2] = {};  // of the part as dealt to the lanes (holding_lane), and of the gate's other half
};

}  // namespace hotgemm
