#pragma once

// The products of a batch, and the groups of a grouped product. A kernel for several products takes the arguments of
// the first one, and moves its addresses.

#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "row_groups.cuh"
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

/// How a part of a kernel holds the arguments of its product. Those of a gated D have its columns, not the product's.
template <GemmTraits kTraits>
using HeldGemm = typename HeldArgs<GemmArgs, kTraits.batched || kTraits.epilogue.is_gated()>::Type;

/// The distances of a batch. `args` is the parameter of a kernel for batches.
template <class Args>
HOTGEMM_DEVICE const BatchArgs& batch_of(const Args& args) {
  return static_cast<const Batched<Args>&>(args).batch;
}

/// How parts of a kernel are told their product: by its number, or by the rows or the k of a group.
template <bool kGrouped, bool kAlongK>
struct ProductType {
  using Type = u32;
};
template <>
struct ProductType<true, false> {
  using Type = RowGroup;
};
template <>
struct ProductType<true, true> {
  using Type = KGroup;
};
template <GemmTraits kTraits>
using ProductOf = typename ProductType<kTraits.grouped, kTraits.along_k>::Type;
HOTGEMM_DEVICE u32 number_of(u32 product) { return product; }
HOTGEMM_DEVICE u32 number_of(const RowGroup& group) { return static_cast<u32>(group.number); }
HOTGEMM_DEVICE u32 number_of(const KGroup& group) { return static_cast<u32>(group.number); }

/// An address moved by `product` times `stride` elements.
HOTGEMM_DEVICE u64 moved(u64 address, i64 stride, u32 product, int element_bytes) {
  return address + static_cast<u64>(stride * product) * static_cast<u64>(element_bytes);
}

/// The address of a product's matrix, from an array of addresses; 0 without an array. The compiler leaves out a load
/// that nothing uses, and moves none in front of the wait for the preceding kernel, which may write the array.
HOTGEMM_DEVICE u64 address_in(u64 array, u32 product) {
  return ptx::ld_global_unchanged_b64_if(ptx::unchanged_from_here(array) + u64{product} * sizeof(u64), array != 0);
}

template <GemmTraits kTraits>
HOTGEMM_DEVICE GemmArgs moved(GemmArgs args, const BatchArgs& batch, u32 product) {
  if constexpr (kTraits.pointers) {
    args.a = address_in(args.a, product);
    args.b = address_in(args.b, product);
    if constexpr (kTraits.reads_c) args.c = address_in(args.c, product);
    args.d = address_in(args.d, product);
    return args;
  }
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
  if constexpr (kTraits.epilogue.bits) {
    args.auxiliary = moved(args.auxiliary, batch.stride_auxiliary / 8, product, 1);
  } else {
    args.auxiliary = moved(args.auxiliary, batch.stride_auxiliary, product, size_bytes(kTraits.element_d));
  }
  return args;
}

// ---- groups ----

HOTGEMM_DEVICE u64 moved_rows(u64 address, i64 ld, const RowGroup& group, int element_bytes) {
  return address + static_cast<u64>(ld * group.begin) * static_cast<u64>(element_bytes);
}

template <GemmTraits kTraits>
HOTGEMM_DEVICE GemmArgs moved(GemmArgs args, const BatchArgs& batch, const RowGroup& group) {
  if constexpr (kTraits.masked) {
    args = moved<kTraits>(args, batch, number_of(group));
  } else {
    args.a = moved_rows(args.a, args.lda, group, size_bytes(kTraits.element));
    args.b = moved(args.b, batch.stride_b, static_cast<u32>(group.number), size_bytes(kTraits.element_b));
    args.c = moved_rows(args.c, args.ldc, group, size_bytes(kTraits.element_d));
    args.d = moved_rows(args.d, args.ldd, group, size_bytes(kTraits.element_d));
  }
  args.m = group.rows;
  return args;
}

/// Groups share what a batch shares, but for the vectors that have an element for each row, and the bias (epilogue_of).
template <GemmTraits kTraits>
HOTGEMM_DEVICE EpilogueArgs moved(EpilogueArgs args, const BatchArgs& batch, const RowGroup& group) {
  constexpr Epilogue kEpilogue = kTraits.epilogue;
  if constexpr (kTraits.masked) {
    args = moved<kTraits>(args, batch, number_of(group));
  } else {
    args.residual = moved_rows(args.residual, args.ld_residual, group, size_bytes(kTraits.element_d));
    if constexpr (kEpilogue.bits) {
      args.auxiliary = moved_rows(args.auxiliary, args.ld_auxiliary / 8, group, 1);
    } else {
      args.auxiliary = moved_rows(args.auxiliary, args.ld_auxiliary, group, size_bytes(kTraits.element_d));
    }
  }
  if constexpr (kEpilogue.scale_a == Scaling::vector) args.scale_a = moved_rows(args.scale_a, 1, group, sizeof(float));
  if constexpr (kEpilogue.bias == Bias::per_row)
    args.bias = moved_rows(args.bias, 1, group, size_bytes(bias_type(kTraits.element_d)));
  return args;
}

/// The operands as stored have k along their columns, so that a group has rows of both.
template <GemmTraits kTraits>
HOTGEMM_DEVICE GemmArgs moved(GemmArgs args, const BatchArgs& batch, const KGroup& group) {
  static_assert(!kTraits.a_is_k_major() && !kTraits.b_is_k_major());
  args.a += static_cast<u64>(args.lda * group.begin) * size_bytes(kTraits.element);
  args.b += static_cast<u64>(args.ldb * group.begin) * size_bytes(kTraits.element_b);
  args.c = moved(args.c, batch.stride_c, number_of(group), size_bytes(kTraits.element_d));
  args.d = moved(args.d, batch.stride_d, number_of(group), size_bytes(kTraits.element_d));
  args.k = group.k;
  // As the library does for a product without k: alpha may be infinite, and D may be a negative zero of C.
  if (group.k == 0) {
    const bool has_no_c = !kTraits.reads_c || (args.beta == 0 && !kTraits.epilogue.scalars);
    args.alpha = has_no_c ? 0.0f : -0.0f;
  }
  return args;
}

template <GemmTraits kTraits>
HOTGEMM_DEVICE EpilogueArgs moved(EpilogueArgs args, const BatchArgs& batch, const KGroup& group) {
  if (group.k == 0) args.alpha = 0;
  return moved<kTraits>(args, batch, number_of(group));
}

/// The operands of the epilogue of a group. `parameter` is that of the kernel.
template <GemmTraits kTraits, class Args>
HOTGEMM_DEVICE EpilogueArgs epilogue_of(const Args& parameter, const ProductOf<kTraits>& group) {
  EpilogueArgs args = moved<kTraits>(static_cast<const Fused<Args>&>(parameter).epilogue, batch_of(parameter), group);
  if constexpr (kTraits.epilogue.bias != Bias::none) {
    args.bias =
        moved(args.bias, groups_of(parameter).stride_bias, number_of(group), size_bytes(bias_type(kTraits.element_d)));
  }
  return args;
}

/// The operands that few epilogues have, of a product of a batch or a group. Of a function's, matrices are the
/// product's, and those with an element for each row the group's.
template <GemmTraits kTraits>
HOTGEMM_DEVICE ExtraArgs moved(ExtraArgs args, const ProductOf<kTraits>& product) {
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = kTraits.epilogue.function.operand(i);
    if (kind == FunctionOperand::matrix) {
      if constexpr (kTraits.divides_rows()) {
        args.operands[i] = moved_rows(args.operands[i], args.ld[i], product, size_bytes(kTraits.element_d));
      } else {
        args.operands[i] = moved(args.operands[i], args.stride[i], number_of(product), size_bytes(kTraits.element_d));
      }
    }
    if constexpr (kTraits.counts_rows()) {
      if (kind == FunctionOperand::row) args.operands[i] = moved_rows(args.operands[i], 1, product, sizeof(float));
    }
  }
  args.product = number_of(product);
  return args;
}

/// The same with the scales of blocks of the product's own A and B, or of a group's rows of A. Groups along k have
/// blocks of both from that on in which the group begins.
template <GemmTraits kTraits>
HOTGEMM_DEVICE EpilogueArgs with_scales_of(EpilogueArgs args, const ExtraArgs& extras,
                                           const ProductOf<kTraits>& product) {
  if constexpr (kTraits.divides_rows()) {
    args.scale_a = moved_rows(args.scale_a, 1, product, sizeof(float));
  } else if constexpr (kTraits.along_k) {
    const auto blocks = static_cast<u32>(product.begin / kScaleBlock);
    args.scale_a = moved(args.scale_a, extras.ld_scale_a, blocks, sizeof(float));
    args.scale_b = moved(args.scale_b, 1, blocks, sizeof(float));
    return args;
  } else {
    args.scale_a = moved(args.scale_a, extras.stride_scale_a, number_of(product), sizeof(float));
  }
  args.scale_b = moved(args.scale_b, extras.stride_scale_b, number_of(product), sizeof(float));
  return args;
}

/// The parameter of a kernel for `product` alone, which is one of those of `args`, with the operands that few
/// epilogues have.
template <GemmTraits kTraits>
HOTGEMM_DEVICE WithExtras<GemmArgs> with_extras(Fused<GemmArgs> product, const GemmArgs& args,
                                                const ProductOf<kTraits>& number) {
  const ExtraArgs extras = moved<kTraits>(static_cast<const WithExtras<GemmArgs>&>(args).extras, number);
  if constexpr (kTraits.epilogue.has_block_scales())
    product.epilogue = with_scales_of<kTraits>(product.epilogue, extras, number);
  return {{{product, batch_of(args)}, {}}, extras};
}

/// Runs `Gemm`, whose blocks compute one tile each, for the tile of this block. The products of a batch follow each
/// other. The grid for groups has a block for each tile that they can have, so that some blocks have none.
template <class Gemm, GemmTraits kTraits>
HOTGEMM_DEVICE void run_block(const GemmArgs& args, int block_m, int block_n) {
  const u32 tiles_m = static_cast<u32>((args.m - 1) / block_m + 1);
  const u32 tiles_n = static_cast<u32>((args.n - 1) / block_n + 1);
  const auto run = [&](const GemmArgs& product, u32 tile) {
    const TileCoord at = tile_at(tile, tiles_m, tiles_n, static_cast<u32>(args.raster_width), args.raster_along_n != 0);
    Gemm(product, at, ptx::thread_index()).run();
  };
  if constexpr (kTraits.grouped) {
    const BatchArgs& batch = batch_of(args);
    const auto run_group = [&](const ProductOf<kTraits>& group, const TileCoord& at) {
      const Fused<GemmArgs> product{moved<kTraits>(args, batch, group), epilogue_of<kTraits>(args, group)};
      if constexpr (kTraits.epilogue.takes_extras()) {
        Gemm(with_extras<kTraits>(product, args, group), at, ptx::thread_index()).run();
      } else {
        Gemm(product, at, ptx::thread_index()).run();
      }
    };
    if constexpr (kTraits.along_k) {
      const u32 tiles = tiles_m * tiles_n, number = ptx::block_index() / tiles;
      run_group(k_group_at(groups_of(args), number, args.k),
                tile_at(ptx::block_index() - number * tiles, tiles_m, tiles_n, static_cast<u32>(args.raster_width),
                        args.raster_along_n != 0));
    } else {
      const u32 step = ptx::grid_size();  // so that a block has one tile, or none
      for_each_group_tile<kTraits.masked>(args, groups_of(args), batch.count, block_m, block_n, ptx::block_index(),
                                          step, [&](const GroupTile& tile) { run_group(tile.group, tile.at); });
    }
  } else if constexpr (kTraits.batched) {
    const u32 tiles = tiles_m * tiles_n, index = ptx::block_index() / tiles;
    const u32 tile = ptx::block_index() - index * tiles;
    const BatchArgs& batch = batch_of(args);
    const Fused<GemmArgs> product{moved<kTraits>(args, batch, index),
                                  moved<kTraits>(static_cast<const Fused<GemmArgs>&>(args).epilogue, batch, index)};
    if constexpr (kTraits.epilogue.takes_extras()) {
      run(with_extras<kTraits>(product, args, index), tile);
    } else {
      run(product, tile);
    }
  } else {
    run(args, ptx::block_index());
  }
}

}  // namespace hotgemm
