#pragma once

#include "shared/gemm_args.hpp"
#include "shared/tensor_map.hpp"

namespace hotgemm {

/// The bytes of each operand, from its first element on, that blocks prefetch into L2; multiples of 16.
struct PrefetchBytes {
  unsigned a;
  unsigned b;
  friend constexpr bool operator==(const PrefetchBytes&, const PrefetchBytes&) = default;
};

/// The parameter of a `wgmma` kernel: tensor maps with the boxes of the config, and the parameters of the other
/// families. `a` and `b` have whole boxes. `a_rest` and `b_rest` have boxes of the rows that whole boxes leave over, if
/// rows run along m or n. `d` is for configs that store in bulk. A map that no copy uses is not encoded.
struct WgmmaArgs {
  TensorMap a;
  TensorMap a_rest;
  TensorMap b;
  TensorMap b_rest;
  TensorMap d;
  GemmArgs gemm;
  PrefetchBytes prefetch;
};

}  // namespace hotgemm
