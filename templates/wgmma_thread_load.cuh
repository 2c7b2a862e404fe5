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
#include "ptx/wgmma.hpp"
#include "shared/fragment.hpp"
#include "shared/thread_pieces.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_ragged_load.cuh"

namespace hotgemm {

/// `kLoaders` warpgroups load.
template <Operand kOperand, WgmmaTile kTile, int kVec, int kLoaders, bool kBatched, bool kPointers>
class ThreadLoad {
  static constexpr ThreadPieces kLayout{kTile, kVec, kLoaders* kWarpgroupThreads / kWarpSize};
  static_assert(kLayout.is_sound());
  static constexpr int kElementBytes = kTile.element_bytes;
  static constexpr int kRows = kLayout.rows_of_lane();
  static constexpr bool kPairs = kVec == 4;  // a piece is a pair of words, otherwise one word

  /// The edge of the matrix that cuts a tile. Beyond m (or n) lanes load other elements of the matrix, since rows and
  /// columns that D does not have may hold anything. Beyond the end of k there must be zeros.
  enum class Cut { none, outer, k };

 public:
  static constexpr bool kByThreads = true;

  /// A lane's pieces of a tile. Each has two words, or the two halves of a word, which the store joins.
  struct Pieces {
    u32 at[kLayout.pieces()][2] = {};
  };

  HOTGEMM_DEVICE ThreadLoad(const WgmmaArgs& args, u32 rank) : args_(args.gemm) {
    static_cast<void>(rank);
    const int warp = ptx::thread_index() / kWarpSize, lane = ptx::thread_index() % kWarpSize;
    row_ = kLayout.first_row(warp, lane);
    column_ = kLayout.column(lane);
    place_ = kLayout.first_place(row_, column_);
    begin(first_matrix());
  }

  /// The load of a product of a batch.
  HOTGEMM_DEVICE ThreadLoad of(const WgmmaArgs& args, u32 product) const {
    const BatchArgs& batch = batch_of(args);
    const i64 stride = kOperand == Operand::a ? batch.stride_a : batch.stride_b;
    ThreadLoad load = *this;
    if constexpr (kPointers) {
      load.begin(address_in(first_matrix(), product));
    } else {
      load.begin(moved(first_matrix(), stride, product, kElementBytes));
    }
    return load;
  }

  // The copy engine has no part in it.
  HOTGEMM_DEVICE void prefetch_maps() const {}
  struct Part {
    u32 bytes = 0;
  };
  HOTGEMM_DEVICE Part part(int, u32) const { return {}; }
  HOTGEMM_DEVICE void copy(u32, const Part&, int, u32) const {}

  /// Loads this lane's pieces of the tile that begins at `outer`, `k`.
  HOTGEMM_DEVICE void fetch(Pieces& pieces, int outer, int k) const {
    move<Cut::k, false, false>(pieces, 0, outer, k);  // right for every tile
  }
  /// Stores the pieces to the tile at `shared`, and loads those of the tile that begins at `outer`, `k`.
  HOTGEMM_DEVICE void exchange(Pieces& pieces, u32 shared, int outer, int k) const {
    const Cut cut = cut_of(outer, k);
    if (cut == Cut::k) {
      move<Cut::k, false, true>(pieces, shared, outer, k);
    } else if (cut == Cut::outer) {
      move<Cut::outer, false, true>(pieces, shared, outer, k);
    } else if (odd_) {
      move<Cut::none, true, true>(pieces, shared, outer, k);
    } else {
      move<Cut::none, false, true>(pieces, shared, outer, k);
    }
  }
  HOTGEMM_DEVICE void store(const Pieces& pieces, u32 shared) const {
#pragma unroll
    for (int i = 0; i < kLayout.pieces(); ++i) store_piece(place(shared, i / kRows, i % kRows), pieces.at[i]);
  }

 private:
  HOTGEMM_DEVICE u64 first_matrix() const { return kOperand == Operand::a ? args_.a : args_.b; }
  HOTGEMM_DEVICE u64 matrix() const { return kBatched ? matrix_ : first_matrix(); }
  HOTGEMM_DEVICE void begin(u64 matrix) {
    matrix_ = matrix;
    odd_ = kVec == 1 && ((matrix / kElementBytes + static_cast<u64>(row_ * ld())) & 1) != 0;
  }
  HOTGEMM_DEVICE i64 ld() const { return kOperand == Operand::a ? args_.lda : args_.ldb; }
  HOTGEMM_DEVICE int extent() const { return kOperand == Operand::a ? args_.m : args_.n; }

  HOTGEMM_DEVICE Cut cut_of(int outer, int k) const {
    if (args_.k - k < kTile.block_k) return Cut::k;
    if (extent() - outer >= kTile.outer) return Cut::none;
    return kPairs && !kTile.k_major && extent() % kLayout.elements() != 0 ? Cut::k : Cut::outer;  // a part of a piece
  }

  template <Cut kCut, bool kOdd, bool kStores>
  HOTGEMM_DEVICE void move(Pieces& pieces, u32 shared, int outer, int k) const {
    // The rows and columns of the matrix from this lane's first ones on.
    auto inside = static_cast<u32>(kTile.k_major ? extent() - outer : args_.k - k);
    if constexpr (kCut != Cut::none) ptx::pin(inside);  // or what depends on it takes registers throughout the tile
    const int rows = static_cast<int>(inside) - row_;
    const int columns = (kTile.k_major ? args_.k - k : extent() - outer) - column_;
    constexpr bool kClampsRows = kCut != Cut::none && kTile.k_major;
    constexpr bool kClampsColumns = kCut != Cut::none && !kTile.k_major;
    const int row = kClampsRows && rows <= 0 ? 0 : row_;
    const u64 tile = element(matrix(), (kTile.k_major ? outer : k) + static_cast<i64>(row), kTile.k_major ? k : outer);
#pragma unroll
    for (int slab = 0; slab < kTile.slabs(); ++slab) {
      const int left = columns - slab * kTile.slab_elements();
      u64 address = element(tile, 0, kClampsColumns && left <= 0 ? 0 : slab * kTile.slab_elements() + column_);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        u32(&piece)[2] = pieces.at[slab * kRows + i];
        if constexpr (kStores) store_piece(place(shared, slab, i), piece);
        const bool is_in_k = kCut != Cut::k || kTile.k_major || i * kLayout.step() < rows;
        if constexpr (kCut == Cut::none) {
          load_piece<kOdd>(piece, address);
        } else if constexpr (kPairs) {
          load_pair(piece, address, !is_in_k ? 0 : kCut == Cut::k ? left : kLayout.elements());
        } else {
          const bool is_last = kClampsColumns && left <= 1;  // then the second element may be anything
          const int count = kCut == Cut::k && kTile.k_major ? left : is_in_k ? 2 : 0;
          piece[0] = ptx::ld_global_u16_if(address, count >= 1);
          piece[1] = ptx::ld_global_u16_if(address + (is_last ? 0 : kElementBytes), count >= 2);
        }
        if (!kClampsRows || (i + 1) * kLayout.step() < rows) address = element(address, kLayout.step(), 0);
      }
    }
  }

  /// The address `rows` and `columns` further on.
  HOTGEMM_DEVICE u64 element(u64 address, i64 rows, int columns) const {
    return address + static_cast<u64>(rows * ld() + columns) * kElementBytes;
  }
  HOTGEMM_DEVICE u32 place(u32 shared, int slab, int i) const {
    return shared + slab * kTile.slab_bytes() + kLayout.place(place_, i);
  }

  /// Loads a piece that lies in the matrix.
  template <bool kOdd>
  static HOTGEMM_DEVICE void load_piece(u32 (&piece)[2], u64 address) {
    if constexpr (kPairs) {
      const ptx::Vec2 words = ptx::ld_global_v2_b32(address);
      piece[0] = words.x;
      piece[1] = words.y;
    } else if constexpr (kOdd) {
      piece[0] = ptx::ld_global_u16(address);
      piece[1] = ptx::ld_global_u16(address + kElementBytes);
    } else {
      piece[0] = ptx::ld_global_b32(address);
      piece[1] = 0;
    }
  }
  /// Loads two words of a row that has `left` more elements. The others become zeros.
  static HOTGEMM_DEVICE void load_pair(u32 (&piece)[2], u64 address, int left) {
    piece[0] = ptx::ld_global_b32_if(address, left >= 2);
    piece[1] = ptx::ld_global_b32_if(address + sizeof(u32), left >= 4);
    if (left == 1) piece[0] = ptx::ld_global_u16(address);
    if (left == 3) piece[1] = ptx::ld_global_u16(address + sizeof(u32));
  }

  static HOTGEMM_DEVICE void store_piece(u32 shared, const u32 (&piece)[2]) {
    if constexpr (kPairs) {
      ptx::st_shared_v2_b32(shared, {piece[0], piece[1]});
    } else {
      ptx::st_shared_b32(shared, piece[0] | piece[1] << 16);
    }
  }

  const GemmArgs& args_;
  u64 matrix_;
  int row_;  // the first row of this lane in each slab, and its column there
  int column_;
  unsigned place_;    // of the first piece in a slab
  bool odd_ = false;  // the pieces of this lane begin at no multiple of 4 bytes
};

template <bool kByThreads, class ByThreads, class ByCopies>
struct LoadChoice {
  using Type = ByCopies;
};
template <class ByThreads, class ByCopies>
struct LoadChoice<true, ByThreads, ByCopies> {
  using Type = ByThreads;
};
/// The load of an operand: by threads if the config says so and the copy engine cannot.
template <Operand kOperand, WgmmaConfig kConfig, GemmTraits kTraits, WgmmaTile kTile, int kVec, int kSharers>
using LoadOf =
    typename LoadChoice<kConfig.loads_by_threads(kTraits, kVec),
                        ThreadLoad<kOperand, kTile, kVec, kConfig.loaders, kTraits.batched, kTraits.pointers>,
                        CopyOf<kOperand, kConfig, kTraits, kTile, kSharers>>::Type;

}  // namespace hotgemm
