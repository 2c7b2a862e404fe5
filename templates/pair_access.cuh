#pragma once

// Loads and stores of two neighbouring elements of a row of C or D, of which the right one may lie outside the matrix.
// For lanes that store pairs of results without the help of others.

#include "element_access.cuh"
#include "ptx/memory.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

// ---- elements of 16 bits: both in one word ----

template <GemmTraits kTraits>
HOTGEMM_DEVICE u32 load_pair_bits(u64 address, bool has_both) {
  if (kTraits.vec_d > 1 && has_both) return ptx::ld_global_b32(address);
  const u32 low = ptx::ld_global_b16(address);
  return has_both ? low | static_cast<u32>(ptx::ld_global_b16(address + 2)) << 16 : low;
}
template <GemmTraits kTraits>
HOTGEMM_DEVICE void store_pair_bits(u64 address, u32 pair, bool has_both) {
  if (kTraits.vec_d > 1 && has_both) return ptx::st_global_b32(address, pair);
  ptx::st_global_b16(address, static_cast<u16>(pair));
  if (has_both) ptx::st_global_b16(address + 2, static_cast<u16>(pair >> 16));
}

/// The same under a predicate: zero without a load if `is_inside` is false.
template <GemmTraits kTraits>
HOTGEMM_DEVICE u32 load_pair_bits_if(u64 address, bool is_inside, bool has_both) {
  if constexpr (kTraits.vec_d > 1) {
    return ptx::ld_global_b32_if(address, is_inside && has_both) |
           ptx::ld_global_u16_if(address, is_inside && !has_both);
  } else {
    return ptx::ld_global_u16_if(address, is_inside) | ptx::ld_global_u16_if(address + 2, is_inside && has_both) << 16;
  }
}

// ---- elements of 8 and 32 bits ----

template <DType kType>
struct NumberPair {
  typename ResultOf<kType>::type low;
  typename ResultOf<kType>::type high;
};

template <GemmTraits kTraits>
HOTGEMM_DEVICE NumberPair<kTraits.element_d> load_number_pair(u64 address, bool has_both) {
  if constexpr (size_bytes(kTraits.element_d) == 1) {
    if (kTraits.vec_d > 1 && has_both) {
      using Result = typename ResultOf<kTraits.element_d>::type;
      const u32 codes = ptx::ld_global_b16(address);
      return {static_cast<Result>(number_of_byte<kTraits.element_d>(codes & 0xff)),
              static_cast<Result>(number_of_byte<kTraits.element_d>(codes >> 8))};
    }
  } else if (kTraits.vec_d > 1 && has_both) {
    const ptx::Vec2 bits = ptx::ld_global_v2_b32(address);
    return {number_of<kTraits.element_d>(bits.x), number_of<kTraits.element_d>(bits.y)};
  }
  return {load_result<kTraits.element_d>(address, 0), has_both ? load_result<kTraits.element_d>(address, 1) : 0};
}
/// Stores two elements of 8 bits, the first in the low byte of `codes`.
template <GemmTraits kTraits>
HOTGEMM_DEVICE void store_byte_pair(u64 address, u32 codes, bool has_both) {
  if (kTraits.vec_d > 1 && has_both) return ptx::st_global_b16(address, static_cast<u16>(codes));
  ptx::st_global_u8(address, codes & 0xff);
  if (has_both) ptx::st_global_u8(address + 1, codes >> 8);
}
template <GemmTraits kTraits>
HOTGEMM_DEVICE void store_number_pair(u64 address, const NumberPair<kTraits.element_d>& pair, bool has_both) {
  if constexpr (size_bytes(kTraits.element_d) == 1) {
    store_byte_pair<kTraits>(address, byte_pair_of<kTraits.element_d>(pair.low, pair.high), has_both);
  } else {
    if (kTraits.vec_d > 1 && has_both)
      return ptx::st_global_v2_b32(address, bits_of_number(pair.low), bits_of_number(pair.high));
    store_element<kTraits.element_d>(address, 0, pair.low);
    if (has_both) store_element<kTraits.element_d>(address, 1, pair.high);
  }
}

// ---- results ----

/// Stores the results of two neighbouring sums of a row, by the op of an epilogue. What lies outside D is not stored.
template <GemmTraits kTraits, class Op, class Sum>
HOTGEMM_DEVICE void store_result_pair(const GemmArgs& args, const Op& op, Element2d at, Sum low, Sum high) {
  // An op that needs its neighbours is called by all lanes.
  if (!Op::kNeedsNeighbours && (at.row >= args.m || at.col >= args.n)) return;
  const bool is_inside = !Op::kNeedsNeighbours || (at.row < args.m && at.col < args.n);
  const bool has_both = at.col + 1 < args.n;
  const auto address = [&](u64 matrix, i64 ld) {
    return matrix + static_cast<u64>(at.row * ld + at.col) * size_bytes(kTraits.element_d);
  };
  if constexpr (size_bytes(kTraits.element_d) == 2) {
    u32 c = 0;
    if (Op::kReadsC && is_inside) c = load_pair_bits<kTraits>(address(args.c, args.ldc), has_both);
    const u64 d = address(args.d, args.ldd);
    const u32 pair = op.pair(args, low, high, c, at);
    if (is_inside) store_pair_bits<kTraits>(d, pair, has_both);
  } else {
    NumberPair<kTraits.element_d> c = {};
    if (Op::kReadsC && is_inside) c = load_number_pair<kTraits>(address(args.c, args.ldc), has_both);
    const u64 d = address(args.d, args.ldd);
    const NumberPair<kTraits.element_d> pair = op.numbers(args, low, high, c, at);
    if (is_inside) store_number_pair<kTraits>(d, pair, has_both);
  }
}

}  // namespace hotgemm
