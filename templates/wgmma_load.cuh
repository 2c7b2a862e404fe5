#pragma once

// The loads of family `wgmma`, which bring the tiles of an operand into the stages.
//
// A load is a class with the members of TensorLoad. The pipeline calls `bytes` and `copy` from one thread, which does
// nothing for an operand that threads load (wgmma_thread_load.cuh). It calls `fetch`, `exchange` and `store` from all
// threads of the loaders, which does nothing for an operand that the copy engine loads. The pipeline itself knows only
// the tile of an operand.

#include "ptx/bulk_copy.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

enum class Operand { a, b };

/// Bulk copies by tensor map. If kSharers blocks share a tile, each of them copies its part to all of them. With
/// kReadOnce, L2 drops the operand's lines before others.
template <Operand kOperand, WgmmaTile kTile, int kSharers, bool kReadOnce = false>
class TensorLoad {
  static constexpr int kRows = WgmmaConfig::box(kTile, kSharers).y;
  static constexpr int kBoxes = kTile.rows() / kSharers / kRows;

 public:
  static constexpr bool kByThreads = false;

  /// `rank` is that of this block in its cluster.
  HOTGEMM_DEVICE TensorLoad(const WgmmaArgs& args, u32 rank) : args_(args), rank_(rank) {}

  /// Called once, before the first copy, and only if there will be one.
  HOTGEMM_DEVICE void prefetch_maps() const {
    const TensorMap &whole = this->whole(), &rest = this->rest();
    const int extent = this->extent();
    if (!kTile.k_major || extent >= kRows) ptx::prefetch_tensormap(whole);
    if (kTile.k_major && extent % kRows != 0) ptx::prefetch_tensormap(rest);
  }

  /// The bytes that arrive for the tile at `outer`, from all blocks that share it. The copy engine takes longer for a
  /// row outside the matrix than for a row inside. In a k-major tile such rows are left out: the old values in their
  /// place only change rows or columns that are not part of D. In another tile the rows run along k, and those outside
  /// the matrix must be zeros.
  HOTGEMM_DEVICE u32 bytes(int outer) const {
    if constexpr (!kTile.k_major) return kTile.bytes();
    const int rows = min_of(extent() - outer, kTile.rows());
    return static_cast<u32>(max_of(rows, 0) * kTile.slabs() * kTile.swizzle_bytes);
  }

  /// Copies this block's part of the tile that begins at `outer`, `k`, slab by slab, to address `shared` in the stage.
  /// `barrier` counts the bytes.
  HOTGEMM_DEVICE void copy(u32 shared, int outer, int k, u32 barrier) const {
    const TensorMap &whole = this->whole(), &rest = this->rest();
    const int extent = this->extent();
    const int first = kSharers == 1 ? 0 : static_cast<int>(rank_) * kBoxes * kRows;
    // With full unrolling, the few registers of the producer would spill. [[maybe_unused]]: host compilers ignore the
    // pragma.
    [[maybe_unused]] constexpr int kUnroll = kTile.slabs() <= 4 ? kTile.slabs() : 1;
#pragma unroll kUnroll
    for (int slab = 0; slab < kTile.slabs(); ++slab) {
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) {
        const int row = first + i * kRows, column = slab * kTile.slab_elements();
        const int left = kTile.k_major ? extent - outer - row : kRows;
        if (left <= 0) continue;
        const TensorMap& map = left < kRows ? rest : whole;
        copy_box(shared + slab * kTile.slab_bytes() + row * kTile.swizzle_bytes, map,
                 kTile.k_major ? k + column : outer + column, kTile.k_major ? outer + row : k + row, barrier);
      }
    }
  }

  // Threads hold no pieces of the tile.
  struct Pieces {};
  HOTGEMM_DEVICE void fetch(Pieces&, int, int) const {}
  HOTGEMM_DEVICE void exchange(Pieces&, u32, int, int) const {}
  HOTGEMM_DEVICE void store(const Pieces&, u32) const {}

 private:
  static HOTGEMM_DEVICE void copy_box(u32 shared, const TensorMap& map, int x, int y, u32 barrier) {
    constexpr u16 kBlocks = (1 << kSharers) - 1;
    if constexpr (kReadOnce && kSharers == 1) {
      ptx::cp_async_bulk_tensor_2d_load(shared, map, x, y, barrier, ptx::createpolicy_evict_first());
    } else if constexpr (kReadOnce) {
      ptx::cp_async_bulk_tensor_2d_multicast(shared, map, x, y, barrier, kBlocks, ptx::createpolicy_evict_first());
    } else if constexpr (kSharers == 1) {
      ptx::cp_async_bulk_tensor_2d_load(shared, map, x, y, barrier);
    } else {
      ptx::cp_async_bulk_tensor_2d_multicast(shared, map, x, y, barrier, kBlocks);
    }
  }

  HOTGEMM_DEVICE const TensorMap& whole() const { return kOperand == Operand::a ? args_.a : args_.b; }
  HOTGEMM_DEVICE const TensorMap& rest() const { return kOperand == Operand::a ? args_.a_rest : args_.b_rest; }
  /// The size of the matrix along m (or n).
  HOTGEMM_DEVICE int extent() const { return kOperand == Operand::a ? args_.gemm.m : args_.gemm.n; }

  const WgmmaArgs& args_;
  u32 rank_;
};

}  // namespace hotgemm
