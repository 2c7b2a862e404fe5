#pragma once

#include "shared/gemm_traits.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// `config`, whose k-tile counts elements of 16 bits, for the elements of `traits`: with as many bytes, and with sums
/// as exact as the traits want them.
constexpr WgmmaConfig typed(WgmmaConfig config, const GemmTraits& traits) {
  config.block_k = typed_block_k(config.block_k, traits.element);
  config.promote = is_fp8(traits.element) && !traits.fast_sums;
  if (config.has_one_interval(traits)) config.block_k = kPromotedK;
  return config;
}

}  // namespace hotgemm
