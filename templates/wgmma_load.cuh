#pragma once

// The loads of family `wgmma`, which bring the tiles of an operand into the stages.
//
// A load is a class with the members of TensorLoad. The pipeline calls `part` once for each item, and `of` where
// threads load. It calls `copy` for each k-tile, from one thread; that does nothing for an operand that threads load
// (wgmma_thread_load.cuh). It calls `fetch`, `exchange` and `store` from all threads of the loaders; they do nothing
// for an operand that the copy engine loads. The pipeline itself knows only the tile of an operand.

#include "batch.cuh"
#include "ptx/bulk_copy.hpp"
#include "ptx/index.hpp"
#include "ptx/trap.hpp"
#include "shared/address_place.hpp"
#include "shared/byte_share.hpp"
#include "shared/gate.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// Prefetches this block's share of an operand's first `bytes`. A prefetch reads no values, so it may run before the
/// preceding kernel has written them.
HOTGEMM_DEVICE void prefetch_share(u64 operand, u32 bytes) {
  if (bytes == 0) return;  // the division would delay the first copy
  const ByteShare share = byte_share(bytes, ptx::grid_size(), ptx::block_index());
  if (share.count > 0) ptx::cp_async_bulk_prefetch_l2(operand + share.first, share.count);
}

/// How the copy engine finds the matrix of a product: there is one, it has a number, or it has an address.
enum class Matrices { one, numbered, addressed };

/// The coordinates of a matrix behind those of its rows and columns.
template <Matrices kMatrices>
struct MatrixPlace {};
template <>
struct MatrixPlace<Matrices::numbered> {
  int number = 0;
};
template <>
struct MatrixPlace<Matrices::addressed> : AddressPlace {};

/// The blocks of a cluster that share a tile. They are kStride apart; kOthers are in the cluster for each of them.
template <int kSharers, int kOthers, int kStride>
class Sharing {
 public:
  HOTGEMM_DEVICE explicit Sharing(u32 rank)
      : share_(rank / kStride % kSharers), bits_(static_cast<u16>(kFirst << (rank - share_ * kStride))) {}
  /// The number of this block among them.
  HOTGEMM_DEVICE u32 share() const { return share_; }
  /// A bit for each of them.
  HOTGEMM_DEVICE u16 bits() const { return bits_; }

 private:
  static constexpr u32 first() {
    u32 bits = 0;
    for (int i = 0; i < kSharers; ++i) bits |= 1u << (i * kStride);
    return bits;
  }
  static constexpr u32 kFirst = first();
  u32 share_;
  u16 bits_;
};
/// All blocks of the cluster share the tile.
template <int kSharers, int kStride>
class Sharing<kSharers, 1, kStride> {
 public:
  HOTGEMM_DEVICE explicit Sharing(u32 rank) : rank_(rank) {}
  HOTGEMM_DEVICE u32 share() const { return rank_; }
  static constexpr u16 bits() { return (1 << kSharers) - 1; }

 private:
  u32 rank_;
};

/// Bulk copies by tensor map. If kSharers blocks share a tile, each of them copies its part to all of them. With
/// kReadOnce, L2 drops the operand's lines before others. With kAnyRows, tiles begin at any row of the matrix, so that
/// all boxes are whole: behind the last row the copy engine writes zeros. With kHalf, every 2 * kHalf columns of a tile
/// are half of the gate's and half others (column_of_halves). A matrix with an address has no boxes that lie wholly
/// outside (has_legal_places).
template <Operand kOperand, WgmmaTile kTile, int kSharers, int kOthers, Matrices kMatrices, bool kReadOnce = false,
          bool kAnyRows = false, int kHalf = 0>
class TensorLoad {
  static constexpr int kRows = WgmmaConfig::box(kTile, kSharers, kHalf).y;
  static constexpr int kBoxes = kTile.rows() / kSharers / kRows;
  // Blocks of a square wait for two neighbours, not for the diagonal one. The bytes of each copy keep a block from
  // releasing a stage again before the diagonal one has released it, so each copy must have some.
  static constexpr bool kInSquare = kSharers > 1 && kOthers > 1;
  static constexpr bool kCutsBoxes = kTile.k_major && !kAnyRows && !kInSquare;
  static constexpr bool kCutsSlabs = !kTile.k_major && kMatrices == Matrices::addressed;

 public:
  static constexpr bool kByThreads = false;

  /// `rank` is that of this block in its cluster.
  HOTGEMM_DEVICE TensorLoad(const WgmmaArgs& args, u32 rank) : args_(args), sharing_(rank) {}

  /// Called once, before the first copy, and only if there will be one.
  HOTGEMM_DEVICE void prefetch_maps() const {
    const TensorMap &whole = this->whole(), &rest = this->rest();
    const int extent = this->extent();
    if (!kCutsBoxes || extent >= kRows) ptx::prefetch_tensormap(whole);
    if (kCutsBoxes && extent % kRows != 0) ptx::prefetch_tensormap(rest);
  }

  /// This block's part of the tiles of an item, the same for all of their k.
  struct Part : MatrixPlace<kMatrices> {
    int outer;  ///< where the tiles begin along m (or n)
    int row;    ///< the part's first row in them
    int left;   ///< rows of the matrix from there on, if rows run along m (or n)
    u32 bytes;  ///< of a whole tile that arrive, from all blocks that share it
  };
  /// The copy engine takes longer for a row outside the matrix than for a row inside. In a k-major tile such rows are
  /// left out, but in a square: the old values in their place only change rows or columns that are not part of D. In
  /// another tile the rows run along k, and those outside the matrix must be zeros.
  HOTGEMM_DEVICE Part part(int outer, u32 product) const {
    const int row = kSharers == 1 ? 0 : static_cast<int>(sharing_.share()) * kBoxes * kRows, left = extent() - outer;
    const int rows = kCutsBoxes ? max_of(min_of(left, kTile.rows()), 0) : kTile.rows();
    int slabs = kTile.slabs();
    if constexpr (kCutsSlabs) slabs = left <= 0 ? 0 : min_of((left - 1) / kTile.slab_elements() + 1, slabs);
    Part part{{}, outer, row, left - row, static_cast<u32>(rows * slabs * kTile.swizzle_bytes)};
    if constexpr (kMatrices == Matrices::numbered) part.number = matrix_of(product);
    if constexpr (kMatrices == Matrices::addressed)
      static_cast<AddressPlace&>(part) = place_of(address_in(first_matrix(), product));
    return part;
  }

  /// Copies the part of the tile at `k`, slab by slab, to address `shared` in the stage. `barrier` counts the bytes.
  HOTGEMM_DEVICE void copy(u32 shared, const Part& part, int k, u32 barrier) const {
    const TensorMap &whole = this->whole(), &rest = this->rest();
    if constexpr (kMatrices == Matrices::addressed) {
      if (!part.is_valid()) ptx::trap();  // the copy engine would begin at another address
    }
    // With full unrolling, the few registers of the producer would spill. [[maybe_unused]]: host compilers ignore the
    // pragma.
    [[maybe_unused]] constexpr int kUnroll = kTile.slabs() <= 4 ? kTile.slabs() : 1;
#pragma unroll kUnroll
    for (int slab = 0; slab < kTile.slabs(); ++slab) {
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) {
        const int row = part.row + i * kRows, column = slab * kTile.slab_elements();
        const int left = kCutsBoxes ? part.left - i * kRows : kRows;
        if (left <= 0 || (kCutsSlabs && column >= part.left)) continue;
        const TensorMap& map = left < kRows ? rest : whole;
        copy_box(shared + slab * kTile.slab_bytes() + row * kTile.swizzle_bytes, map,
                 kTile.k_major ? k + column : place(part, column), kTile.k_major ? place(part, row) : k + row, part,
                 barrier, sharing_.bits());
      }
    }
  }

  // Threads hold no pieces of the tile, and the copy engine needs no load for each product.
  HOTGEMM_DEVICE const TensorLoad& of(const WgmmaArgs&, u32 /*product*/) const { return *this; }
  struct Pieces {};
  HOTGEMM_DEVICE void fetch(Pieces&, int, int) const {}
  HOTGEMM_DEVICE void exchange(Pieces&, u32, int, int) const {}
  HOTGEMM_DEVICE void store(const Pieces&, u32) const {}

 private:
  using Place = MatrixPlace<kMatrices>;

  static HOTGEMM_DEVICE void copy_box(u32 shared, const TensorMap& map, int x, int y, const Place& matrix, u32 barrier,
                                      u16 blocks) {
    if constexpr (kReadOnce) {
      copy_by_policy(shared, map, x, y, matrix, barrier, blocks, ptx::createpolicy_evict_first());
    } else {
      copy_by_policy(shared, map, x, y, matrix, barrier, blocks);
    }
  }
  /// `policy` is one policy or none.
  template <class... Policy>
  static HOTGEMM_DEVICE void copy_by_policy(u32 shared, const TensorMap& map, int x, int y, const Place& matrix,
                                            u32 barrier, u16 blocks, Policy... policy) {
    if constexpr (kMatrices == Matrices::addressed && kSharers == 1) {
      ptx::cp_async_bulk_tensor_4d_load(shared, map, x, y, matrix.chunk, matrix.window, barrier, policy...);
    } else if constexpr (kMatrices == Matrices::addressed) {
      ptx::cp_async_bulk_tensor_4d_multicast(shared, map, x, y, matrix.chunk, matrix.window, barrier, blocks,
                                             policy...);
    } else if constexpr (kMatrices == Matrices::numbered && kSharers == 1) {
      ptx::cp_async_bulk_tensor_3d_load(shared, map, x, y, matrix.number, barrier, policy...);
    } else if constexpr (kMatrices == Matrices::numbered) {
      ptx::cp_async_bulk_tensor_3d_multicast(shared, map, x, y, matrix.number, barrier, blocks, policy...);
    } else if constexpr (kSharers == 1) {
      ptx::cp_async_bulk_tensor_2d_load(shared, map, x, y, barrier, policy...);
    } else {
      ptx::cp_async_bulk_tensor_2d_multicast(shared, map, x, y, barrier, blocks, policy...);
    }
  }

  /// The row of op(A), or column of op(B), at place `at` of the tile.
  HOTGEMM_DEVICE int place(const Part& part, int at) const {
    if constexpr (kHalf > 0) {
      const int column = column_of_halves(part.outer, at, kHalf, extent() / 2);
      // A box of a matrix at any address must touch it. These columns are not part of D.
      return kMatrices == Matrices::addressed && column >= extent() ? 0 : column;
    }
    return part.outer + at;
  }
  /// The coordinate of a product's matrix. A matrix that all products share has a map of only one.
  HOTGEMM_DEVICE int matrix_of(u32 product) const {
    const BatchArgs& batch = batch_of(args_);
    return (kOperand == Operand::a ? batch.stride_a : batch.stride_b) == 0 ? 0 : static_cast<int>(product);
  }
  HOTGEMM_DEVICE u64 first_matrix() const { return kOperand == Operand::a ? args_.gemm.a : args_.gemm.b; }
  HOTGEMM_DEVICE const TensorMap& whole() const { return kOperand == Operand::a ? args_.a : args_.b; }
  HOTGEMM_DEVICE const TensorMap& rest() const { return kOperand == Operand::a ? args_.a_rest : args_.b_rest; }
  /// The size of the matrix along m (or n).
  HOTGEMM_DEVICE int extent() const { return kOperand == Operand::a ? args_.gemm.m : args_.gemm.n; }

  const WgmmaArgs& args_;
  Sharing<kSharers, kOthers, kOperand == Operand::a ? kOthers : 1> sharing_;
};

/// The matrices that an operand has. Groups of rows have rows of one A.
template <Operand kOperand, GemmTraits kTraits>
constexpr Matrices matrices_of() {
  if (kTraits.pointers) return Matrices::addressed;
  return kTraits.batched && !(kTraits.divides_rows() && kOperand == Operand::a) ? Matrices::numbered : Matrices::one;
}

}  // namespace hotgemm
