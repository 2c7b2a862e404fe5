#pragma once

// A copy of an operand's tiles that keeps no addresses between tiles, for kernels whose registers are scarce.

#include "operand_tile.cuh"
#include "ptx/index.hpp"

namespace hotgemm {

/// One thread's share of copying an operand's tiles, like TileCopy. It keeps the number of the next k-tile alone, and
/// computes addresses and distances to the edge from it and from the thread's index, which it reads again each time:
/// otherwise the compiler would compute them once and keep them.
template <TileLayout kTile, bool kKMajor, int kVec, int kThreads, bool kAsync, int kElementBytes>
class RecomputedCopy {
  using Copy = TileCopy<kTile, kKMajor, kVec, kThreads, kAsync, kElementBytes>;

 public:
  HOTGEMM_DEVICE RecomputedCopy(u64 matrix, i64 ld, int outer, int outers, int k, int)
      : matrix_(matrix), ld_(ld), outer_(outer), outers_(outers), k_(k) {}

  static HOTGEMM_DEVICE bool is_inside(int outer, int outers) { return Copy::is_inside(outer, outers); }
  HOTGEMM_DEVICE void issue_whole(u32 shared) const { copy().issue_whole(shared); }
  HOTGEMM_DEVICE void issue_partial(u32 shared) const { copy().issue_partial(shared); }
  HOTGEMM_DEVICE void advance() { k0_ += Copy::kBlockK; }

 private:
  HOTGEMM_DEVICE Copy copy() const { return {matrix_, ld_, outer_, outers_, k_, ptx::thread_index_again(), k0_}; }

  u64 matrix_;
  i64 ld_;
  int outer_, outers_, k_;
  int k0_ = 0;  // where the next tile begins along k
};

/// The class that copies a tile: RecomputedCopy if kRecomputes, else TileCopy.
template <bool kRecomputes, TileLayout kTile, bool kKMajor, int kVec, int kThreads, bool kAsync, int kElementBytes,
          bool kHalves>
struct StageCopyOf {
  using Type = TileCopy<kTile, kKMajor, kVec, kThreads, kAsync, kElementBytes, kHalves>;
};
template <TileLayout kTile, bool kKMajor, int kVec, int kThreads, bool kAsync, int kElementBytes>
struct StageCopyOf<true, kTile, kKMajor, kVec, kThreads, kAsync, kElementBytes, false> {
  using Type = RecomputedCopy<kTile, kKMajor, kVec, kThreads, kAsync, kElementBytes>;
};

}  // namespace hotgemm
