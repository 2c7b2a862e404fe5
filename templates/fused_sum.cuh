#pragma once

// The op of a fused kernel: the operations of its epilogue on a sum. Epilogue (shared/gemm_types.hpp) states them and
// their order.

#include "activation.cuh"
#include "batch.cuh"
#include "bias_gradient.cuh"
#include "element_access.cuh"
#include "epilogue_vectors.cuh"
#include "gated_sums.cuh"
#include "largest.cuh"
#include "matrix_elements.cuh"
#include "pair_access.cuh"
#include "ptx/element.hpp"
#include "relu_bits.cuh"
#include "scaled_sum.cuh"
#include "shared/fragment.hpp"
#include "shared/gate.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// The user's function, as `at(value, row, column, product, operands)`. A unit with a function specialises it, in
/// "epilogue_function.cuh", which the library makes from the user's source.
template <EpilogueFunction kFunction>
struct FunctionOf;

/// The extras that an op without them holds: none.
struct NoExtras {};
template <bool kHasExtras, bool kBatched>
struct HeldExtras {
  using Type = const NoExtras;
};
template <bool kBatched>
struct HeldExtras<true, kBatched> : HeldArgs<ExtraArgs, kBatched> {};

/// See ScaledSum. One object is made for each tile, when the work ahead in the stream has ended: it holds the factors
/// that all elements share. Vectors are loaded as EpilogueVectors says. A matrix may be D, so its loads stay where they
/// are. `kNeighbours` says where the second element of a pair lies, and those of other lanes that call at the same
/// time.
///
/// With a gate, GatedSums take the place of a sum, and a place is one of D. Arguments `gemm` have the columns of D.
template <GemmTraits kTraits, Neighbours kNeighbours = Neighbours::none>
class FusedSum {
  using Vectors = EpilogueVectors<kTraits, kNeighbours>;
  static constexpr bool kPairsDown = kNeighbours == Neighbours::down;
  static constexpr Epilogue kEpilogue = kTraits.epilogue;
  static constexpr DType kElement = kTraits.element_d;
  static_assert(!is_integer(kElement) || size_bytes(kElement) == 1, "a D of s32 has no epilogue");
  static constexpr bool kHasGradient = kEpilogue.bias_gradient != Bias::none;
  static_assert(!kEpilogue.is_gated() || (!kEpilogue.reads_auxiliary() && !kTraits.reads_c), "a gate has neither");
  static_assert(!kEpilogue.is_gated() || (!kEpilogue.bits && !kHasGradient), "a gate has neither");

 public:
  static constexpr bool kReadsC = kTraits.reads_c;
  static constexpr int kMatrices = kEpilogue.matrices_read() + (kReadsC ? 1 : 0);
  static constexpr bool kMayReadD = kMatrices > 0;
  static constexpr bool kOnceOnly = kMayReadD || kHasGradient;
  /// True if the caller of `pair` calls begin_group and end_group.
  static constexpr bool kHasGroups =
      (kHasGradient || kEpilogue.writes_bits()) && kNeighbours != Neighbours::none && size_bytes(kElement) == 2;
  static constexpr bool kNeedsNeighbours = kNeighbours != Neighbours::none && (kEpilogue.writes_bits() || kHasGradient);
  /// True if a caller of begin_pair must call hold_vectors before. Without begin_pair each pair loads its own.
  static constexpr bool kHoldsVectors = Vectors::kHolds;
  using Sum = typename NumberOf<kTraits.accumulator>::type;
  using Result = float;

  static constexpr int kMostOperands = EpilogueFunction::kMostOperands;
  static constexpr bool kHasFunction = kEpilogue.has_function(), kHasExtras = kEpilogue.has_extras();
  using Held = typename HeldArgs<EpilogueArgs, kTraits.batched>::Type;
  using Extras = typename HeldExtras<kHasExtras, kTraits.batched>::Type;

  /// The operands, from the parameter of the kernel.
  struct Source {
    Held args;
    Extras extras;
    template <class Args>
    HOTGEMM_DEVICE explicit Source(const Args& parameter)
        : args(static_cast<const Fused<Args>&>(parameter).epilogue), extras(extras_of(parameter)) {}
    /// The operands of a product of a batch.
    template <class Args>
    HOTGEMM_DEVICE Source(const Args& parameter, const ProductOf<kTraits>& product)
        : Source(source_of(parameter, product)) {}

   private:
    HOTGEMM_DEVICE Source(const EpilogueArgs& epilogue, Extras& its_extras) : args(epilogue), extras(its_extras) {}
    template <class Args>
    static HOTGEMM_DEVICE Source source_of(const Args& parameter, const ProductOf<kTraits>& product) {
      const EpilogueArgs& first = static_cast<const Fused<Args>&>(parameter).epilogue;
      if constexpr (kTraits.grouped) {
        return Source(epilogue_of<kTraits>(parameter, product), moved_extras(extras_of(parameter), product));
      } else if constexpr (kTraits.batched) {
        return Source(moved<kTraits>(first, batch_of(parameter), product), moved_extras(extras_of(parameter), product));
      } else {
        return Source(first, extras_of(parameter));
      }
    }
    template <class Args>
    static HOTGEMM_DEVICE decltype(auto) extras_of(const Args& parameter) {
      if constexpr (kHasExtras) {
        return (static_cast<const WithExtras<Args>&>(parameter).extras);
      } else {
        return NoExtras{};
      }
    }
    static HOTGEMM_DEVICE ExtraArgs moved_extras(const ExtraArgs& args, const ProductOf<kTraits>& product) {
      return moved<kTraits>(args, product);
    }
    static HOTGEMM_DEVICE NoExtras moved_extras(NoExtras none, const ProductOf<kTraits>& /*product*/) { return none; }
  };

  HOTGEMM_DEVICE FusedSum(const GemmArgs& gemm, const Source& source)
      : epilogue_(source.args),
        extras_(source.extras),
        largest_(amax_of(source.extras)),
        factor_(gemm.alpha),
        beta_(gemm.beta) {
    if constexpr (kEpilogue.scalars) {
      if (epilogue_.alpha != 0) factor_ = vectors_.number(epilogue_.alpha, 0);
      if (kReadsC && epilogue_.beta != 0) beta_ = vectors_.number(epilogue_.beta, 0);
    }
    if constexpr (kEpilogue.scale_a == Scaling::tensor)
      factor_ = ptx::mul_rn(factor_, vectors_.number(epilogue_.scale_a, 0));
    if constexpr (kEpilogue.scale_b == Scaling::tensor)
      factor_ = ptx::mul_rn(factor_, vectors_.number(epilogue_.scale_b, 0));
    if constexpr (kEpilogue.scale_d) scale_d_ = vectors_.number(epilogue_.scale_d, 0);
    if constexpr (kHasFunction) {
#pragma unroll
      for (int i = 0; i < kMostOperands; ++i) {
        if (kEpilogue.function.operand(i) == FunctionOperand::scalar)
          scalars_[i] = vectors_.number(extras_.operands[i], 0);
      }
    }
  }

  /// Brings the vectors' elements for a tile into L1. Otherwise each part of the tile that is stored first waits for
  /// them. Called by a warp, before the products of the tile. Prefetched matrices would hold up copies of operands.
  static HOTGEMM_DEVICE void prefetch(const GemmArgs& gemm, const Source& source, Element2d tile, Element2d extent,
                                      int lane) {
    Vectors::prefetch(VectorSource<Extras>{source.args, source.extras}, gemm, tile, extent, lane);
  }

  /// Called before each part of a tile, with the place where it begins. Parts do not share loads of vectors, nor what
  /// the compiler derives from places: that would take registers from one part to the next.
  HOTGEMM_DEVICE Element2d begin_part(Element2d first) {
    vectors_.begin_part();
    return {ptx::number_from_here(first.row), ptx::number_from_here(first.col)};
  }

  /// Called by a warp after begin_part, with the place in D where its pairs in the part begin. With kHoldsVectors.
  HOTGEMM_DEVICE void hold_vectors(const GemmArgs& gemm, Element2d first) {
    vectors_.hold(vector_source(), gemm, first);
  }

  /// Called before each pair of a part, with the number of its group of 16 rows and 16 columns, and the pair's number
  /// in the group. With kHasGroups or kHoldsVectors, by all lanes of a warp.
  HOTGEMM_DEVICE void begin_pair(int group, int number) const {
    group_ = group;
    pair_ = number;
  }
  /// Called before the pairs of a group, and at their end, with the place where they begin and how many there are, at
  /// least 8. With kHasGroups, by all lanes of a warp.
  HOTGEMM_DEVICE void begin_group() const { sums_ = {}; }
  HOTGEMM_DEVICE void end_group(const GemmArgs& gemm, Element2d first, Element2d extent) const {
    if constexpr (kHasGradient) sums_.add_to(extras_.bias_gradient, first, {gemm.m, gemm.n});
    if constexpr (kEpilogue.writes_bits())
      bits_.store(epilogue_.auxiliary, epilogue_.ld_auxiliary, first, extent, {gemm.m, gemm.n});
  }

  /// A value of type T for each matrix beside C. Those of matrices that are not read are not used.
  template <class T>
  using Matrices = MatrixElements<T>;
  /// Calls use(element, address, leading dimension) for each matrix beside C that is read.
  template <class Elements, class Use>
  static HOTGEMM_DEVICE void for_each_matrix(const Source& source, Elements& elements, Use&& use) {
    for_each_matrix_of(source.args, source.extras, elements, use);
  }

  template <class AnySum>
  HOTGEMM_DEVICE float value(const GemmArgs& gemm, AnySum sum, float c, Element2d at) const {
    const bool is_inside = at.row < gemm.m && at.col < gemm.n;
    MatrixElements<float> elements;
    for_each_matrix_of(epilogue_, extras_, elements, [&](float& element, u64 matrix, i64 ld) {
      if (is_inside) element = load_result<kElement>(matrix, at.row * ld + at.col);
    });
    return value(gemm, sum, c, elements, at);
  }
  template <class AnySum>
  HOTGEMM_DEVICE float value(const GemmArgs& gemm, AnySum sum, float c, const MatrixElements<float>& elements,
                             Element2d at) const {
    const bool is_inside = at.row < gemm.m && at.col < gemm.n;
    const ElementVectors vectors = vectors_.at(vector_source(), gemm, at);
    const auto value = linear(sum, c, vectors);
    if constexpr (kEpilogue.writes_bits()) {
      if (kNeighbours == Neighbours::none && is_inside)
        store_relu_bit(epilogue_.auxiliary, epilogue_.ld_auxiliary, at, relu_bit(value));
    } else if constexpr (kEpilogue.aux) {
      if (is_inside) store_auxiliary(gemm, at, value);
    }
    return finished(gemm, value, elements, vectors, at);
  }

  template <class AnySum>
  HOTGEMM_DEVICE u32 pair(const GemmArgs& gemm, AnySum low, AnySum high, u32 c, Element2d at) const {
    static_assert(!kPairsDown, "pairs that lie below each other are loaded by the caller");
    const bool is_inside = at.row < gemm.m && at.col < gemm.n, has_both = at.col + 1 < gemm.n;
    MatrixElements<u32> pairs;
    for_each_matrix_of(epilogue_, extras_, pairs, [&](u32& pair, u64 matrix, i64 ld) {
      pair = load_pair_bits_if<kTraits>(place(matrix, ld, at), is_inside, has_both);
    });
    return pair(gemm, low, high, c, pairs, at);
  }
  template <class AnySum>
  HOTGEMM_DEVICE u32 pair(const GemmArgs& gemm, AnySum low, AnySum high, u32 c, const MatrixElements<u32>& pairs,
                          Element2d at) const {
    const Element2d next = second_of_pair(at);
    const PairVectors vectors = vectors_of_pair(gemm, at, next);
    const u32 of_c = kReadsC ? c : 0;
    const auto first = linear(low, lower(of_c), vectors.first), second = linear(high, upper(of_c), vectors.second);
    store_bits(gemm, first, second, at);
    if constexpr (kEpilogue.aux && !kEpilogue.bits) {
      if constexpr (kPairsDown) {
        if (at.row < gemm.m && at.col < gemm.n) store_auxiliary(gemm, at, first);
        if (next.row < gemm.m && at.col < gemm.n) store_auxiliary(gemm, next, second);
      } else {
        if (at.row < gemm.m && at.col < gemm.n) store_auxiliary_pair(gemm, at, first, second, next.col < gemm.n);
      }
    }
    return ptx::narrow_pair<kElement>(
        finished(gemm, first, pairs.each([](u32 both) { return lower(both); }), vectors.first, at, 0),
        finished(gemm, second, pairs.each([](u32 both) { return upper(both); }), vectors.second, next, 1));
  }

  template <class AnySum>
  HOTGEMM_DEVICE NumberPair<kElement> numbers(const GemmArgs& gemm, AnySum low, AnySum high,
                                              const NumberPair<kElement>& c, Element2d at) const {
    const Element2d next = second_of_pair(at);
    if constexpr (kNeighbours != Neighbours::none && kEpilogue.writes_bits())
      store_bits(gemm, linear(gemm, low, c.low, at), linear(gemm, high, c.high, next), at);
    return {value(gemm, low, c.low, at), value(gemm, high, c.high, next)};
  }
  template <class AnySum>
  HOTGEMM_DEVICE NumberPair<kElement> numbers(const GemmArgs& gemm, AnySum low, AnySum high,
                                              const NumberPair<kElement>& c,
                                              const MatrixElements<NumberPair<kElement>>& pairs, Element2d at) const {
    const Element2d next = second_of_pair(at);
    if constexpr (kNeighbours != Neighbours::none && kEpilogue.writes_bits())
      store_bits(gemm, linear(gemm, low, c.low, at), linear(gemm, high, c.high, next), at);
    return {value(gemm, low, c.low, pairs.each([](const NumberPair<kElement>& both) { return both.low; }), at),
            value(gemm, high, c.high, pairs.each([](const NumberPair<kElement>& both) { return both.high; }), next)};
  }

 private:
  static HOTGEMM_DEVICE Element2d second_of_pair(Element2d at) {
    return {at.row + (kPairsDown ? 1 : 0), at.col + (kPairsDown ? 0 : 1)};
  }

  /// Stores the value in front of the activation; with a gate the values of both columns.
  HOTGEMM_DEVICE void store_auxiliary(const GemmArgs& /*gemm*/, Element2d at, float value) const {
    store_element<kElement>(epilogue_.auxiliary, at.row * epilogue_.ld_auxiliary + at.col, value);
  }
  HOTGEMM_DEVICE void store_auxiliary(const GemmArgs& gemm, Element2d at, const GatedSums<float>& values) const {
    const GateColumns columns = gate_columns(kEpilogue.gate, at.col, gemm.n);
    store_auxiliary(gemm, {at.row, columns.gate}, values.gate);
    store_auxiliary(gemm, {at.row, columns.other}, values.other);
  }
  /// Does so for two neighbours, of which the second may be outside; with a gate of columns in halves.
  HOTGEMM_DEVICE void store_auxiliary_pair(const GemmArgs& /*gemm*/, Element2d at, float first, float second,
                                           bool has_both) const {
    store_pair_bits<kTraits>(place(epilogue_.auxiliary, epilogue_.ld_auxiliary, at),
                             ptx::narrow_pair<kElement>(first, second), has_both);
  }
  HOTGEMM_DEVICE void store_auxiliary_pair(const GemmArgs& gemm, Element2d at, const GatedSums<float>& first,
                                           const GatedSums<float>& second, bool has_both) const {
    const Element2d other = {at.row, gemm.n + at.col};
    store_auxiliary_pair(gemm, at, first.gate, second.gate, has_both);
    if (gemm.n % 2 == 0) return store_auxiliary_pair(gemm, other, first.other, second.other, has_both);
    store_auxiliary(gemm, other, first.other);  // an odd column, at no multiple of a pair
    if (has_both) store_auxiliary(gemm, {other.row, other.col + 1}, second.other);
  }

  /// Stores the bits of two elements, by their values in front of the activation.
  template <class Value>
  HOTGEMM_DEVICE void store_bits(const GemmArgs& gemm, const Value& low, const Value& high, Element2d at) const {
    if constexpr (kEpilogue.writes_bits()) {
      const bool first = relu_bit(low), second = relu_bit(high);
      if (kHasGroups && pair_ >= 0) {
        bits_.add(pair_, first, second);
      } else {
        store_relu_bits<kNeighbours>(epilogue_.auxiliary, epilogue_.ld_auxiliary, at, {gemm.m, gemm.n}, first, second);
      }
    }
  }

  template <class Elements, class Use>
  static HOTGEMM_DEVICE void for_each_matrix_of(const EpilogueArgs& epilogue, const Extras& extras, Elements& elements,
                                                Use&& use) {
    if constexpr (kEpilogue.residual) use(elements.residual, epilogue.residual, epilogue.ld_residual);
    if constexpr (kEpilogue.reads_auxiliary() && !kEpilogue.bits)
      use(elements.auxiliary, epilogue.auxiliary, epilogue.ld_auxiliary);
    if constexpr (kHasFunction) {
#pragma unroll
      for (int i = 0; i < kMostOperands; ++i) {
        if (kEpilogue.function.operand(i) == FunctionOperand::matrix)
          use(elements.operands[i], extras.operands[i], extras.ld[i]);
      }
    }
  }
  static HOTGEMM_DEVICE float lower(u32 pair) { return ptx::widen<kElement>(static_cast<u16>(pair)); }
  static HOTGEMM_DEVICE float upper(u32 pair) { return ptx::widen_upper<kElement>(pair); }

  HOTGEMM_DEVICE VectorSource<Extras> vector_source() const { return {epilogue_, extras_}; }
  HOTGEMM_DEVICE PairVectors vectors_of_pair(const GemmArgs& gemm, Element2d at, Element2d next) const {
    if constexpr (kHoldsVectors) {
      if (pair_ >= 0) return vectors_.held(group_, pair_);
    }
    return vectors_.at_pair(vector_source(), gemm, at, next);
  }

  /// The value in front of the activation.
  template <class AnySum>
  HOTGEMM_DEVICE auto linear(const GemmArgs& gemm, const AnySum& sum, float c, Element2d at) const {
    return linear(sum, c, vectors_.at(vector_source(), gemm, at));
  }
  HOTGEMM_DEVICE float linear(Sum sum, float c, const ElementVectors& vectors) const {
    return linear(sum, c, vectors.row, vectors.column);
  }
  HOTGEMM_DEVICE GatedSums<float> linear(const GatedSums<Sum>& sums, float c, const ElementVectors& vectors) const {
    return {linear(sums.gate, c, vectors.row, vectors.column), linear(sums.other, c, vectors.row, vectors.other)};
  }
  HOTGEMM_DEVICE float linear(Sum sum, float c, const VectorElements& row, const VectorElements& column) const {
    float value = ptx::mul_rn(factor_, static_cast<float>(sum));
    if constexpr (kEpilogue.scale_a == Scaling::vector) value = ptx::mul_rn(value, row.scale);
    if constexpr (kEpilogue.scale_b == Scaling::vector) value = ptx::mul_rn(value, column.scale);
    if constexpr (kReadsC) value = ptx::fma_rn(beta_, c, value);
    if constexpr (kEpilogue.bias == Bias::per_column) value = ptx::add_rn(value, column.bias);
    if constexpr (kEpilogue.bias == Bias::per_row) value = ptx::add_rn(value, row.bias);
    return value;
  }

  /// The operations from the activation on. `half` is the number of the element in a pair of a group.
  template <class Value>
  HOTGEMM_DEVICE float finished(const GemmArgs& gemm, Value linear, const MatrixElements<float>& elements,
                                const ElementVectors& vectors, Element2d at, int half = 0) const {
    float value = shaped(linear, elements, vectors, at);
    if constexpr (kEpilogue.residual) value = ptx::add_rn(value, elements.residual);
    if (kEpilogue.amax && at.row < gemm.m && at.col < gemm.n) largest_.add(value);
    if constexpr (kHasGradient) {
      const bool is_there = at.row < gemm.m && at.col < gemm.n;
      if (kHasGroups && pair_ >= 0) {
        sums_.add(pair_, half, is_there ? value : 0.0f);
      } else {
        add_to_gradient<kEpilogue.bias_gradient, kNeighbours>(extras_.bias_gradient, value, at, is_there);
      }
    }
    if constexpr (kEpilogue.scale_d) value = ptx::mul_rn(value, scale_d_);
    return value;
  }

  /// The activation, or what stands in its place; and the gate.
  HOTGEMM_DEVICE float shaped(float value, const MatrixElements<float>& elements, const ElementVectors& vectors,
                              Element2d at) const {
    if constexpr (kHasFunction) {
      value = FunctionOf<kEpilogue.function>::at(value, at.row, at.col, static_cast<int>(extras_.product),
                                                 {operand<0>(elements, vectors), operand<1>(elements, vectors),
                                                  operand<2>(elements, vectors), operand<3>(elements, vectors)});
    } else if constexpr (kEpilogue.has_clamp()) {
      value = clamped(value, extras_.low, extras_.high);
    } else if constexpr (kEpilogue.reads_bits()) {
      if (!vectors.bit) value = 0;
    } else if constexpr (kEpilogue.reads_auxiliary()) {
      value = differentiated<kEpilogue.activation>(value, elements.auxiliary);
    } else {
      value = activated<kEpilogue.activation>(value);
    }
    return value;
  }
  HOTGEMM_DEVICE float shaped(const GatedSums<float>& values, const MatrixElements<float>& elements,
                              const ElementVectors& vectors, Element2d at) const {
    return ptx::mul_rn(shaped(values.gate, elements, vectors, at), values.other);
  }

  static HOTGEMM_DEVICE u64 amax_of(const NoExtras&) { return 0; }
  static HOTGEMM_DEVICE u64 amax_of(const ExtraArgs& extras) { return extras.amax; }

  /// The number of the function's operand `kIndex` for an element of D; 0 if there is none.
  template <int kIndex>
  HOTGEMM_DEVICE float operand(const MatrixElements<float>& elements, const ElementVectors& vectors) const {
    constexpr FunctionOperand kKind = kEpilogue.function.operand(kIndex);
    if constexpr (kKind == FunctionOperand::scalar) return scalars_[kIndex];
    if constexpr (kKind == FunctionOperand::row) return vectors.row.operands[kIndex];
    if constexpr (kKind == FunctionOperand::column) return vectors.column.operands[kIndex];
    return elements.operands[kIndex];
  }

  static HOTGEMM_DEVICE u64 place(u64 matrix, i64 ld, Element2d at) {
    return matrix + static_cast<u64>(at.row * ld + at.col) * size_bytes(kElement);
  }
  Held epilogue_;
  Extras extras_;
  Largest<kEpilogue.amax> largest_;
  mutable GradientSums<kEpilogue.bias_gradient, kNeighbours> sums_;  ///< of a group
  mutable ReluBitGroup<kNeighbours> bits_;
  mutable int group_ = 0, pair_ = -1;  ///< of the next pair; -1 if the caller does not count them
  Vectors vectors_;
  float factor_, beta_;
  float scale_d_ = 1;
  float scalars_[kMostOperands] = {};  ///< of the function
};

/// The op of a kernel with these traits.
template <GemmTraits kTraits, Neighbours kNeighbours = Neighbours::none, bool kFused = kTraits.is_fused()>
struct OpOf {
  using Type = ScaledSum<kTraits>;
};
template <GemmTraits kTraits, Neighbours kNeighbours>
struct OpOf<kTraits, kNeighbours, true> {
  using Type = FusedSum<kTraits, kNeighbours>;
};

}  // namespace hotgemm
