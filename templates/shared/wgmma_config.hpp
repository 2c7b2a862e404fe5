#pragma once

#include "shared/arch_limits.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tensor_map.hpp"
#include "shared/tile_layout.hpp"
#include "shared/wgmma_descriptor.hpp"

namespace hotgemm {

/// The parameter of a `wgmma` kernel: tensor maps of A and B, whose boxes the config states, and the rest as other
/// families have it.
struct WgmmaArgs {
  TensorMap a;
  TensorMap b;
  GemmArgs gemm;
};

/// Elements of a box: x along the contiguous dimension of the matrix as stored.
struct BoxExtent {
  int x;
  int y;
};

/// A variant of the `wgmma` family (templates/wgmma.cuh).
struct WgmmaConfig {
  int block_m = 128;
  int block_n = 256;
  int block_k = 64;
  int consumers = 2;  ///< warpgroups that compute, each block_m / consumers rows of the tile
  int stages = 4;     ///< k-tiles in flight
  int cluster_m = 1;  ///< blocks that work on tiles below each other and share their tiles of B
  int cluster_n = 1;  ///< blocks that work on tiles beside each other and share their tiles of A

  /// The one list of fields, as in the other families.
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit("block_m", "m", config.block_m);
    visit("block_n", "n", config.block_n);
    visit("block_k", "k", config.block_k);
    visit("consumers", "c", config.consumers);
    visit("stages", "s", config.stages);
    visit("cluster_m", "cm", config.cluster_m);
    visit("cluster_n", "cn", config.cluster_n);
  }
  friend constexpr bool operator==(const WgmmaConfig&, const WgmmaConfig&) = default;

  static constexpr int kSwizzleBytes = 128;

  constexpr int threads() const { return (1 + consumers) * kWarpgroupThreads; }  // the first warpgroup copies
  constexpr int cluster() const { return cluster_m * cluster_n; }
  constexpr int consumer_m() const { return block_m / consumers; }

  constexpr WgmmaTile a_tile(const GemmTraits& t) const { return {block_m, block_k, t.a_is_k_major(), kSwizzleBytes}; }
  constexpr WgmmaTile b_tile(const GemmTraits& t) const { return {block_n, block_k, t.b_is_k_major(), kSwizzleBytes}; }
  constexpr int stage_bytes() const { return (block_m + block_n) * block_k * 2; }

  /// What one copy brings: a slab, or the part of it that this block copies for its cluster.
  constexpr BoxExtent a_box(const GemmTraits& t) const { return box(a_tile(t), cluster_n); }
  constexpr BoxExtent b_box(const GemmTraits& t) const { return box(b_tile(t), cluster_m); }
  static constexpr BoxExtent box(const WgmmaTile& tile, int parts) {
    return {tile.slab_elements(), tile.k_major ? tile.rows() / parts : tile.rows()};
  }

  // A warp's 16 rows of D leave 64 columns at a time, through two buffers.
  static constexpr int kStoreRows = 16;
  static constexpr int kStoreCols = 64;
  static constexpr int kStoreBytes = kStoreRows * kStoreCols * 2;

  // Shared memory: stages, buffers of D, barriers.
  constexpr int store_offset() const { return stages * stage_bytes(); }
  constexpr int barrier_offset() const { return store_offset() + consumers * 4 * 2 * kStoreBytes; }
  constexpr int smem_bytes() const { return barrier_offset() + 2 * stages * 8; }

  constexpr int accumulator_registers(const GemmTraits& t) const {
    return consumer_m() * block_n / kWarpgroupThreads / (t.accumulator == DType::f16 ? 2 : 1);
  }
  // How the register file is divided after the start; the sum is what __launch_bounds__ gives all threads.
  constexpr int producer_registers() const { return consumers == 3 ? 32 : 24; }
  constexpr int consumer_registers() const { return consumers == 3 ? 160 : 240; }
};

constexpr bool is_legal(const WgmmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (!arch.has_wgmma) return false;
  if (t.element != DType::f16 && t.element != DType::bf16) return false;
  if (t.accumulator != DType::f32 && (t.accumulator != DType::f16 || t.element != DType::f16)) return false;
  if (t.vec_a != 8 || t.vec_b != 8 || t.vec_d != 8) return false;  // as tensor maps need it
  if (c.consumers < 1 || c.consumers > 3 || c.stages < 2 || c.stages > 16) return false;
  if (c.cluster_m < 1 || c.cluster_n < 1 || c.cluster() > 2) return false;
  if (c.block_m < 64 || c.block_m > 256 || c.block_m % (c.consumers * kWgmmaM) != 0) return false;
  if (c.block_n < 16 || c.block_n > 256 || c.block_n % 16 != 0) return false;
  if (c.block_k < 64 || c.block_k > 128 || c.block_k % 64 != 0) return false;
  const WgmmaTile a = c.a_tile(t), b = c.b_tile(t);
  if (!a.is_sound() || !b.is_sound()) return false;
  // Each block of a cluster copies its part of what they share.
  if (a.k_major ? a.rows() % (8 * c.cluster_n) != 0 : a.slabs() % c.cluster_n != 0) return false;
  if (b.k_major ? b.rows() % (8 * c.cluster_m) != 0 : b.slabs() % c.cluster_m != 0) return false;
  if (c.smem_bytes() > arch.smem_per_block_bytes) return false;
  return c.accumulator_registers(t) + (t.reads_c ? 64 : 40) <= c.consumer_registers();  // with fewer, kernels spill
}

}  // namespace hotgemm
