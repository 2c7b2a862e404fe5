#pragma once

// The load of an operand with ragged rows in family `wgmma`: by threads, since the copy engine reads no row that begins
// within 16 bytes.
//
//   global ──ld.global, a stage ahead──▶ registers ──st.shared, swizzled──▶ the stage that a tensor copy would fill
//
// A lane's accesses have the width that all rows allow. If it is 2 bytes, the rows of one warp either all begin at a
// multiple of 4 bytes, or none does: then each word comes by two loads. No load touches an element outside of the
// matrix. Loading whole granules of 16 bytes instead, and shifting, moves more bytes through L1: two granules for each
// chunk.

#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "shared/thread_pieces.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_load.cuh"

namespace hotgemm {

/// `kLoaders` warpgroups load.
template <Operand kOperand, WgmmaTile kTile, int kVec, int kLoaders>
class ThreadLoad {
  static constexpr ThreadPieces kLayout{kTile, kVec, kLoaders*(kWarpgroupThreads / kWarpSize)};
  static_assert(kLayout.is_sound());
  static constexpr int kElementBytes = kTile.element_bytes;
  static constexpr int kRows = kLayout.rows_of_lane();
  static constexpr int kWords = kLayout.words();

 public:
  static constexpr bool kByThreads = true;

  /// What a lane holds of a tile: words, or the two elements of each word.
  struct Pieces {
    u32 at[kLayout.pieces()][kVec == 1 ? 2 : kWords] = {};
  };

  HOTGEMM_DEVICE ThreadLoad(const WgmmaArgs& args, u32 rank) : args_(args.gemm) {
    static_cast<void>(rank);
    const int warp = ptx::thread_index() / kWarpSize, lane = ptx::thread_index() % kWarpSize;
    row_ = kLayout.first_row(warp, lane);
    column_ = kLayout.column(lane);
    place_ = kLayout.first_place(row_, column_);
    odd_ = kVec == 1 && ((matrix() / kElementBytes + static_cast<u64>(row_ * ld())) & 1) != 0;
  }

  HOTGEMM_DEVICE void prefetch_maps() const {}

  /// Loads this lane's pieces of the tile that begins at `outer`, `k`.
  HOTGEMM_DEVICE void fetch(Pieces& pieces, int outer, int k) const {
    if (odd_) {
      move<true, false, true>(pieces, 0, outer, k);
    } else {
      move<false, false, true>(pieces, 0, outer, k);
    }
  }
  /// Stores the pieces to the tile at `shared`, and loads those of the tile that begins at `outer`, `k`.
  HOTGEMM_DEVICE void exchange(Pieces& pieces, u32 shared, int outer, int k) const {
    if (odd_) {
      move<true, true, true>(pieces, shared, outer, k);
    } else {
      move<false, true, true>(pieces, shared, outer, k);
    }
  }
  HOTGEMM_DEVICE void store(Pieces& pieces, u32 shared) const {
    if (odd_) {
      move<true, true, false>(pieces, shared, 0, 0);
    } else {
      move<false, true, false>(pieces, shared, 0, 0);
    }
  }

 private:
  HOTGEMM_DEVICE u64 matrix() const { return kOperand == Operand::a ? args_.a : args_.b; }
  HOTGEMM_DEVICE i64 ld() const { return kOperand == Operand::a ? args_.lda : args_.ldb; }
  HOTGEMM_DEVICE int extent() const { return kOperand == Operand::a ? args_.m : args_.n; }

  template <bool kOdd, bool kStores, bool kLoads>
  HOTGEMM_DEVICE void move(Pieces& pieces, u32 shared, int outer, int k) const {
    const int rows = kTile.k_major ? extent() - outer : args_.k - k;
    const int columns = kTile.k_major ? args_.k - k : extent() - outer;
    const bool is_whole = rows >= kTile.rows() && columns >= kTile.slabs() * kTile.slab_elements();
    if (kLoads && !is_whole) {
      move<kOdd, kStores, kLoads, false>(pieces, shared, outer, k, rows - row_, columns - column_);
    } else {
      move<kOdd, kStores, kLoads, true>(pieces, shared, outer, k, 0, 0);
    }
  }

  /// `rows` and `columns` are those of the matrix from this lane's first row and first column on.
  template <bool kOdd, bool kStores, bool kLoads, bool kWhole>
  HOTGEMM_DEVICE void move(Pieces& pieces, u32 shared, int outer, int k, int rows, int columns) const {
    const i64 row = (kTile.k_major ? outer : k) + row_;
    const u64 first = matrix() + static_cast<u64>(row * ld() + (kTile.k_major ? k : outer) + column_) * kElementBytes;
#pragma unroll
    for (int slab = 0; slab < kTile.slabs(); ++slab) {
      u64 address = first + static_cast<u64>(slab * kTile.slab_elements() * kElementBytes);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        u32(&piece)[kVec == 1 ? 2 : kWords] = pieces.at[slab * kRows + i];
        if constexpr (kStores) store_piece<kOdd>(shared + slab * kTile.slab_bytes() + kLayout.place(place_, i), piece);
        if constexpr (kLoads) {
          const int left = kWhole                      ? kLayout.elements()
                           : i * kLayout.step() < rows ? columns - slab * kTile.slab_elements()
                                                       : 0;
          load_piece<kOdd, kWhole>(piece, address, left);
          address += static_cast<u64>(ld() * (kLayout.step() * kElementBytes));
        }
      }
    }
  }

  /// Loads a piece whose row has `left` more elements; the others become zeros.
  template <bool kOdd, bool kWhole>
  static HOTGEMM_DEVICE void load_piece(u32 (&piece)[kVec == 1 ? 2 : kWords], u64 address, int left) {
    if constexpr (kWhole) {
      if constexpr (kOdd) {
        piece[0] = ptx::ld_global_b16(address);
        piece[1] = ptx::ld_global_b16(address + kElementBytes);
      } else {
        load_words(piece, address);
      }
    } else {
      for (u32& word : piece) word = 0;
      if constexpr (kOdd) {
        if (left >= 1) piece[0] = ptx::ld_global_b16(address);
        if (left >= 2) piece[1] = ptx::ld_global_b16(address + kElementBytes);
      } else if (left >= kLayout.elements()) {
        load_words(piece, address);
      } else {
        if (left >= 1) piece[0] = ptx::ld_global_b16(address);
        if constexpr (kWords == 2) {
          if (left >= 2) piece[0] = ptx::ld_global_b32(address);
          if (left >= 3) piece[1] = ptx::ld_global_b16(address + 2 * kElementBytes);
        }
      }
    }
  }
  template <int kCount>
  static HOTGEMM_DEVICE void load_words(u32 (&piece)[kCount], u64 address) {
    if constexpr (kWords == 2) {
      const ptx::Vec2 words = ptx::ld_global_v2_b32(address);
      piece[0] = words.x;
      piece[1] = words.y;
    } else {
      piece[0] = ptx::ld_global_b32(address);
    }
  }

  template <bool kOdd>
  static HOTGEMM_DEVICE void store_piece(u32 shared, const u32 (&piece)[kVec == 1 ? 2 : kWords]) {
    if constexpr (kWords == 2) {
      ptx::st_shared_v2_b32(shared, {piece[0], piece[1]});
    } else if constexpr (kOdd) {
      ptx::st_shared_b32(shared, piece[0] | piece[1] << 16);
    } else {
      ptx::st_shared_b32(shared, piece[0]);
    }
  }

  const GemmArgs& args_;
  int row_;  // the first row of this lane in each slab, and its column there
  int column_;
  unsigned place_;    // of the first piece in a slab
  bool odd_ = false;  // the pieces of this lane begin at no multiple of 4 bytes
};

/// The load of an operand: by threads if the config says so and the copy engine cannot.
template <Operand kOperand, GemmTraits kTraits, WgmmaConfig kConfig, WgmmaTile kTile, int kSharers>
struct LoadOf {
  static constexpr int kVec = kOperand == Operand::a ? kTraits.vec_a : kTraits.vec_b;
  template <bool kByThreads, int kLoaders>
  struct Choice {
    using Type = TensorLoad<kOperand, kTile, kSharers>;
  };
  template <int kLoaders>
  struct Choice<true, kLoaders> {
    using Type = ThreadLoad<kOperand, kTile, kVec, kLoaders>;
  };
  using Type = typename Choice<kConfig.loads_by_threads(kTraits, kVec), kConfig.loaders>::Type;
};

}  // namespace hotgemm
