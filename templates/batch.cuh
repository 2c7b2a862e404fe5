#pragma once

// The products of a batch. A kernel for batches takes the arguments of the first product, and moves its addresses.

#include "ptx/index.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_order.hpp"

namespace hotgemm {

/// How a part of a kernel holds the arguments of its product: by reference, or in a batch as a copy with other
/// addresses.
template <class Args, bool kBatched>
struct HeldArgs {
  using Type = const Args&;
};
template <class Args>
struct HeldArgs<Args, true> {
  using Type = const Args;
};

/// The distances of a batch. `args` is the parameter of a kernel for batches.
template <class Args>
HOTGEMM_DEVICE const BatchArgs& batch_of(const Args& args) {
  return static_cast<const Batched<Args>&>(args).batch;
}

/// An address moved by `product` times `stride` elements.
HOTGEMM_DEVICE u64 moved(u64 address, i64 stride, u32 product, int element_bytes) {
  return address + static_cast<u64>(stride * product) * static_cast<u64>(element_bytes);
}

template <GemmTraits kTraits>
HOTGEMM_DEVICE GemmArgs moved(GemmArgs args, const BatchArgs& batch, u32 product) {
  args.a = moved(args.a, batch.stride_a, product, size_bytes(kTraits.element));
  args.b = moved(args.b, batch.stride_b, product, size_bytes(kTraits.element_b));
  args.c = moved(args.c, batch.stride_c, product, size_bytes(kTraits.element_d));
  args.d = moved(args.d, batch.stride_d, product, size_bytes(kTraits.element_d));
  return args;
}

/// The products of a batch share scales, scalars and the bias.
template <GemmTraits kTraits>
HOTGEMM_DEVICE EpilogueArgs moved(EpilogueArgs args, const BatchArgs& batch, u32 product) {
  args.residual = moved(args.residual, batch.stride_residual, product, size_bytes(kTraits.element_d));
  args.auxiliary = moved(args.auxiliary, batch.stride_auxiliary, product, size_bytes(kTraits.element_d));
  return args;
}

/// Runs `Gemm`, whose blocks compute one tile each, for the tile of this block. The products of a batch follow each
/// other.
template <class Gemm, GemmTraits kTraits>
HOTGEMM_DEVICE void run_block(const GemmArgs& args, int block_m, int block_n) {
  const u32 tiles_m = static_cast<u32>((args.m - 1) / block_m + 1);
  const u32 tiles_n = static_cast<u32>((args.n - 1) / block_n + 1);
  const auto run = [&](const GemmArgs& product, u32 tile) {
    const TileCoord at = tile_at(tile, tiles_m, tiles_n, static_cast<u32>(args.raster_width), args.raster_along_n != 0);
    Gemm(product, at, ptx::thread_index()).run();
  };
  if constexpr (kTraits.batched) {
    const u32 tiles = tiles_m * tiles_n, index = ptx::block_index() / tiles;
    const u32 tile = ptx::block_index() - index * tiles;
    const BatchArgs& batch = batch_of(args);
    const Fused<GemmArgs> product{moved<kTraits>(args, batch, index),
                                  moved<kTraits>(static_cast<const Fused<GemmArgs>&>(args).epilogue, batch, index)};
    if constexpr (kTraits.epilogue.has_extras()) {
      ExtraArgs extras = static_cast<const WithExtras<GemmArgs>&>(args).extras;
      extras.product = index;
      run(WithExtras<GemmArgs>{{product, batch}, extras}, tile);
    } else {
      run(product, tile);
    }
  } else {
    run(args, ptx::block_index());
  }
}

}  // namespace hotgemm
