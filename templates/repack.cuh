#pragma once

// The kernel that copies operands with rows at any address into aligned rows of workspace (docs/kernels/repack.md). A
// `wgmma` kernel behind it is launched programmatically: it prepares while this kernel copies, and waits before it
// reads.
//
// A lane loads whole granules of 16 bytes, two for each chunk that it writes, and shifts. Neighbours ask for the same
// granules, which L1 holds. All loads of a unit are issued before its first store. Chunks at the ends of a matrix are
// loaded byte by byte. Transposes are in repack_transposed.cuh.

#include "byte_access.cuh"
#include "funnel.cuh"
#include "ptx/bulk_copy.hpp"
#include "ptx/grid_dependency.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "repack_transposed.cuh"
#include "shared/repack_args.hpp"

namespace hotgemm {

/// The blocks whose registers an SM must hold at once. With two, the kernel spills on sm_120 and sm_121.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
inline constexpr int kRepackResidentBlocks = 1;
#else
inline constexpr int kRepackResidentBlocks = kRepackBlocksPerSm;
#endif

/// The 16 bytes that begin `bytes` after the beginning of `low`; `high` follows `low`. `bytes` is below 16.
HOTGEMM_DEVICE ptx::Vec4 shift_chunk(const ptx::Vec4& low, const ptx::Vec4& high, u32 bytes) {
  u32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = (bytes & 8) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = (bytes & 4) != 0 ? w[i + 1] : w[i];
  const u32 bits = (bytes & 3) * 8;
  return {funnel(w[0], w[1], bits), funnel(w[1], w[2], bits), funnel(w[2], w[3], bits), funnel(w[3], w[4], bits)};
}

/// Copies the matrices of an operand. A warp takes each `step`th part.
class Repack {
 public:
  HOTGEMM_DEVICE explicit Repack(const RepackMatrix& matrix)
      : matrix_(matrix), divider_(matrix.row_chunks), chunks_(matrix.chunks()), lane_(lane_index()) {}

  /// Returns the number of the warp's next part, counted from the end of the last matrix.
  HOTGEMM_DEVICE u64 copy(u64 part, u64 step) {
    const u64 parts = matrix_.parts(), all = matrix_.all_parts();
    for (; part < all; part += step) {
      const u64 of_matrix = matrix_.products == 1 ? part : go_to_matrix(part, parts);
      if (of_matrix == 0) {
        copy_ends();
      } else {
        copy_unit((of_matrix - 1) * kRepackUnitChunks);
      }
    }
    return part - all;
  }

 private:
  HOTGEMM_DEVICE static u32 lane_index() { return static_cast<u32>(ptx::thread_index() % kRepackLanes); }

  /// Returns the number of `part` among the `parts` of its matrix. A batch that is copied has few enough matrices that
  /// the numbers of all parts fit into 32 bits.
  HOTGEMM_DEVICE u64 go_to_matrix(u64 part, u64 parts) {
    product_ = static_cast<u32>(part) / static_cast<u32>(parts);
    return part - product_ * parts;
  }

  HOTGEMM_DEVICE u64 row_address(u64 row) const {
    return matrix_.from + product_ * static_cast<u64>(matrix_.stride) + row * static_cast<u64>(matrix_.pitch);
  }
  HOTGEMM_DEVICE u64 chunk_address(u64 chunk) const {
    return matrix_.to + (product_ * chunks_ + chunk) * kRepackChunkBytes;
  }
  /// The bytes that a row has from a chunk of it on, but no more than a chunk's.
  HOTGEMM_DEVICE int bytes_left(u32 chunk_of_row) const {
    const i64 left = matrix_.row_bytes - static_cast<i64>(chunk_of_row) * kRepackChunkBytes;
    return static_cast<int>(left < kRepackChunkBytes ? left : kRepackChunkBytes);
  }

  HOTGEMM_DEVICE void copy_ends() const {
    const u64 chunk = matrix_.end_chunk(lane_);
    if (chunk >= chunks_) return;
    const u32 of_row = static_cast<u32>(chunk % divider_.row_chunks);
    const u64 from = row_address(chunk / divider_.row_chunks) + of_row * 16ull;
    const int left = bytes_left(of_row);
    ptx::st_global_v4_b32(chunk_address(chunk), {load_bytes(from, left), load_bytes(from + 4, left - 4),
                                                 load_bytes(from + 8, left - 8), load_bytes(from + 12, left - 12)});
  }

  HOTGEMM_DEVICE void copy_unit(u64 first) const {
    const u64 row = first / divider_.row_chunks;
    const u64 row_from = row_address(row);
    const u32 offset = static_cast<u32>(first - row * divider_.row_chunks);
    ptx::Vec4 low[kRepackLaneChunks], high[kRepackLaneChunks];
    u32 shift[kRepackLaneChunks];
    int left[kRepackLaneChunks];
#pragma unroll
    for (u32 i = 0; i < kRepackLaneChunks; ++i) {
      const u32 index = offset + lane_ + i * kRepackLanes;
      const u32 rows = divider_.quotient(index);
      const u32 of_row = index - rows * divider_.row_chunks;
      const u64 from = row_from + rows * static_cast<u64>(matrix_.pitch) + of_row * 16ull;
      shift[i] = static_cast<u32>(from) & 15;
      left[i] = bytes_left(of_row);
      const bool reads = matrix_.is_inner(first + lane_ + i * kRepackLanes) && left[i] > 0;
      const bool spans = static_cast<int>(shift[i]) + left[i] > kRepackChunkBytes;
      low[i] = high[i] = {};
      if (reads) low[i] = ptx::ld_global_v4_b32(from - shift[i]);
      if (reads && spans) high[i] = ptx::ld_global_v4_b32(from - shift[i] + 16);
    }
#pragma unroll
    for (u32 i = 0; i < kRepackLaneChunks; ++i) {
      const u64 chunk = first + lane_ + i * kRepackLanes;
      if (!matrix_.is_inner(chunk)) continue;
      ptx::Vec4 words = shift_chunk(low[i], high[i], shift[i]);
      if (left[i] < kRepackChunkBytes) {
        words = {clipped(words.x, left[i]), clipped(words.y, left[i] - 4), clipped(words.z, left[i] - 8),
                 clipped(words.w, left[i] - 12)};
      }
      ptx::st_global_v4_b32(chunk_address(chunk), words);
    }
  }

  const RepackMatrix& matrix_;
  RowDivider divider_;
  u64 chunks_;
  u32 lane_;
  u32 product_ = 0;  // whose matrix is copied
};

/// Prefetches this block's share of a matrix. A prefetch reads no values, so it may run before the preceding kernel has
/// written them.
HOTGEMM_DEVICE void prefetch(const RepackMatrix& matrix) {
  const ByteShare share = prefetch_share(matrix, ptx::grid_size(), ptx::block_index());
  if (share.count > 0) ptx::cp_async_bulk_prefetch_l2(matrix.aligned_begin() + share.first, share.count);
}

/// The start of a kernel that may begin before the preceding one has ended.
HOTGEMM_DEVICE void await_preceding(const RepackArgs& args) {
  if (args.prefetches != 0 && ptx::thread_index() == 0) prefetch(args.first);
  if (args.prefetches != 0 && ptx::thread_index() == kRepackLanes) prefetch(args.second);
  ptx::griddepcontrol_wait();  // what precedes may write the operands, or still read the copy of a launch before
  ptx::griddepcontrol_launch_dependents();
}

HOTGEMM_DEVICE void repack(const RepackArgs& args) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // older architectures have no such launches
  await_preceding(args);
#endif
  copy_transposes(args.first, args.second);
  constexpr int kWarps = kRepackThreads / kRepackLanes;
  const auto warp = static_cast<u64>(ptx::thread_index() / kRepackLanes);
  const u64 part = warp * ptx::grid_size() + ptx::block_index();  // few parts use all SMs
  const u64 step = static_cast<u64>(ptx::grid_size()) * kWarps;
  Repack(args.second).copy(Repack(args.first).copy(part, step), step);
}

}  // namespace hotgemm
