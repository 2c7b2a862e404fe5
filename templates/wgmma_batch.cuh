#pragma once

// The products of a batch in family `wgmma`, whose blocks may take tiles of several products.

#include "batch.cuh"
#include "gated_sums.cuh"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// The number of products that a kernel computes.
template <bool kBatched>
HOTGEMM_DEVICE u32 products_of(const WgmmaArgs& args) {
  if constexpr (kBatched) return batch_of(args).count;
  return 1;
}

/// The arguments of a product of family `wgmma`, for the parts that store D.
template <GemmTraits kTraits>
HOTGEMM_DEVICE HeldGemm<kTraits> product_args(const WgmmaArgs& args, ProductOf<kTraits> product) {
  if constexpr (kTraits.batched) {
    return args_of_d<kTraits>(moved<kTraits>(args.gemm, batch_of(args), product));
  } else {
    return args_of_d<kTraits>(args.gemm);
  }
}

}  // namespace hotgemm
