#pragma once

// The load of an operand that groups divide along k, and the choice of the load by tensor map.

#include "shared/ragged_map.hpp"
#include "wgmma_load.cuh"

namespace hotgemm {

/// TensorLoad for an operand whose rows run along k. The last tile of a group may end within it: behind the last row of
/// the group the copy engine writes zeros. If it wrote the rows of the next group, infinity there would become NaN.
template <Operand kOperand, WgmmaTile kTile, int kSharers>
class RaggedLoad {
  static constexpr int kRows = WgmmaConfig::box(kTile, kSharers).y;
  static constexpr int kBoxes = kTile.rows() / kSharers / kRows;
  static_assert(!kTile.k_major);

 public:
  static constexpr bool kByThreads = false;

  HOTGEMM_DEVICE RaggedLoad(const WgmmaArgs& args, u32 rank) : args_(args), rank_(rank) {}

  HOTGEMM_DEVICE void prefetch_maps() const { ptx::prefetch_tensormap(map()); }

  struct Part {
    int outer;  ///< where the tiles begin along m (or n)
    int row;    ///< the part's first row in them
    int y;      ///< the coordinates of the first row of the group
    int end;
    u32 bytes;  ///< of a whole tile that arrive, from all blocks that share it
  };
  HOTGEMM_DEVICE Part part(int outer, const KGroup& group) const {
    const int row = kSharers == 1 ? 0 : static_cast<int>(rank_) * kBoxes * kRows;
    return {outer, row, kRaggedRows - group.k, group.begin + group.k,
            static_cast<u32>(kTile.rows() * kTile.slabs() * kTile.swizzle_bytes)};
  }

  /// `k` counts from where the group begins.
  HOTGEMM_DEVICE void copy(u32 shared, const Part& part, int k, u32 barrier) const {
    [[maybe_unused]] constexpr int kUnroll = kTile.slabs() <= 4 ? kTile.slabs() : 1;  // see TensorLoad
#pragma unroll kUnroll
    for (int slab = 0; slab < kTile.slabs(); ++slab) {
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) {
        const int row = part.row + i * kRows, column = slab * kTile.slab_elements();
        const u32 to = shared + slab * kTile.slab_bytes() + row * kTile.swizzle_bytes;
        if constexpr (kSharers == 1) {
          ptx::cp_async_bulk_tensor_4d_load(to, map(), part.outer + column, part.y + k + row, part.end, kRaggedRows,
                                            barrier);
        } else {
          ptx::cp_async_bulk_tensor_4d_multicast(to, map(), part.outer + column, part.y + k + row, part.end,
                                                 kRaggedRows, barrier, (1 << kSharers) - 1);
        }
      }
    }
  }

  HOTGEMM_DEVICE const RaggedLoad& of(const WgmmaArgs&, u32 /*product*/) const { return *this; }
  struct Pieces {};
  HOTGEMM_DEVICE void fetch(Pieces&, int, int) const {}
  HOTGEMM_DEVICE void exchange(Pieces&, u32, int, int) const {}
  HOTGEMM_DEVICE void store(const Pieces&, u32) const {}

 private:
  HOTGEMM_DEVICE const TensorMap& map() const { return kOperand == Operand::a ? args_.a : args_.b; }

  const WgmmaArgs& args_;
  u32 rank_;
};

/// The copies for a kernel's operand. Groups of rows have rows of one A.
template <Operand kOperand, WgmmaConfig kConfig, GemmTraits kTraits, WgmmaTile kTile, int kSharers,
          bool kAlongK = kTraits.along_k>
struct CopyChoice {
  static constexpr bool kDivided = kTraits.divides_rows() && kOperand == Operand::a;
  static constexpr int kHalf = kOperand == Operand::b ? kConfig.gate_half(kTraits) : 0;
  using Type = TensorLoad<kOperand, kTile, kSharers, kConfig.cluster() / kSharers, matrices_of<kOperand, kTraits>(),
                          false, kDivided || kHalf != 0, kHalf>;
};
template <Operand kOperand, WgmmaConfig kConfig, GemmTraits kTraits, WgmmaTile kTile, int kSharers>
struct CopyChoice<kOperand, kConfig, kTraits, kTile, kSharers, true> {
  static_assert(kConfig.gate_half(kTraits) == 0);
  using Type = RaggedLoad<kOperand, kTile, kSharers>;
};
template <Operand kOperand, WgmmaConfig kConfig, GemmTraits kTraits, WgmmaTile kTile, int kSharers>
using CopyOf = typename CopyChoice<kOperand, kConfig, kTraits, kTile, kSharers>::Type;

}  // namespace hotgemm
