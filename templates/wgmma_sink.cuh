#pragma once

// The sinks of family `wgmma`, which store the results of a warp to D.
//
// A sink is a class with the public members of LaneSink. The epilogue calls, for each piece of a warp's part of the
// tile: buffer; open; copy, await_copy and fetch for each matrix that the op reads (MatrixPieces); put for each 16
// columns; close. It may open a piece, and copy its first matrix, before it closes the one in front.
// It calls end_tile after the last piece. A kernel calls prefetch_maps at its start and drain at its end.

#include "ptx/bulk_copy.hpp"
#include "ptx/trap.hpp"
#include "shared/address_place.hpp"
#include "wgmma_staging.cuh"
#include "wgmma_transposed.cuh"

namespace hotgemm {

/// The lanes store, neighbouring lanes to neighbouring addresses. D may have any alignment.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class LaneSink {
  using Staging = typename StagingOf<kTraits, kConfig>::Type;
  using Words = WgmmaWords<kTraits, kConfig>;
  /// True if pieces beside each other are stored together.
  static constexpr bool kJoinsPieces = !WgmmaConfig::has_aligned_d(kTraits) && Words::kStripPieces > 1;

 public:
  using Pairs = typename Staging::Pairs;
  static constexpr int kPieceColumns = Staging::kPieceColumns;
  /// True if every piece should have kPieceColumns columns, even if it then begins at columns that are already stored.
  static constexpr bool kWantsWholePieces = false;
  /// True if a piece may be opened before the one in front is closed.
  static constexpr bool kHasBufferAhead = Staging::kBuffers > 1 && !kJoinsPieces;

  /// `map` is that of D, and `product` the number of the product in a batch.
  HOTGEMM_DEVICE LaneSink(const TensorMap& map, const GemmArgs& args, const ProductOf<kTraits>& product, int lane,
                          u32 buffers)
      : args_(args), staging_(args, lane, buffers) {
    static_cast<void>(map);
    static_cast<void>(product);
  }

  static HOTGEMM_DEVICE void prefetch_maps(const WgmmaArgs& args) { static_cast<void>(args); }
  /// Waits until no store reads shared memory any more. Called by all threads before the block ends.
  static HOTGEMM_DEVICE void drain() {}

  /// The address of piece `number`'s buffer.
  HOTGEMM_DEVICE u32 buffer(int number) const { return staging_.buffer(number); }
  /// Waits until the warp may write to the piece's buffer. `copies` is true if copy follows, `is_ahead` if the piece in
  /// front is not closed.
  HOTGEMM_DEVICE void open(const WgmmaPiece& piece, bool copies, bool is_ahead) const {
    static_cast<void>(is_ahead);
    if (Staging::kBuffers == 1 || copies || (kJoinsPieces && Words::begins_strip(piece)))
      staging_.sync();  // the lanes have read the buffer
  }
  HOTGEMM_DEVICE void copy(const WgmmaPiece& piece, u64 matrix, i64 ld) const { staging_.copy(piece, matrix, ld); }
  static HOTGEMM_DEVICE void await_copy() { Staging::await_copy(); }
  static constexpr int parts(const WgmmaPiece& piece) { return Staging::parts(piece); }
  HOTGEMM_DEVICE void fetch(Pairs& pairs, const WgmmaPiece& piece, int part) const {
    staging_.fetch(pairs, piece, part);
  }
  static HOTGEMM_DEVICE void sync() { Staging::sync(); }
  /// Takes the 16 columns of the piece from column `group` * 16 on.
  HOTGEMM_DEVICE void put(const WgmmaPiece& piece, int group, const u32 (&pairs)[4]) const {
    staging_.put(piece, group, pairs);
  }
  /// Sends the piece to D, or the strip that it ends.
  HOTGEMM_DEVICE void close(const WgmmaPiece& piece) const {
    if (kJoinsPieces && !Words::ends_strip(piece)) return;
    staging_.sync();  // the lanes have written the buffers of the strip, and have read those of the one before
    if constexpr (!WgmmaConfig::has_aligned_d(kTraits)) {
      staging_.store_words(piece);
    } else if (piece.row + WgmmaConfig::kStoreRows <= args_.m && piece.col + piece.cols <= args_.n &&
               (!kConfig.transposed || piece.rows >= WgmmaConfig::kStoreRows)) {
      staging_.store_whole(piece);
    } else {
      staging_.store_inside(piece);
    }
  }
  HOTGEMM_DEVICE void end_tile() const { staging_.sync(); }

 private:
  HeldGemm<kTraits> args_;
  Staging staging_;
};

/// The copy engine stores, so that the load-store units are free for consumers that multiply. It writes whole 16-byte
/// chunks, so rows that end within a chunk are stored by the lanes.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class BulkSink {
  using Staging = typename StagingOf<kTraits, kConfig>::Type;
  static constexpr int kBuffers = Staging::kBuffers;
  static constexpr int kChunkElements = kChunkBytes / size_bytes(kTraits.element_d);
  static constexpr int kBoxRows = kConfig.d_box(kTraits).y;
  static constexpr int kPieces = kConfig.store_pieces(kTraits);
  static_assert(kBuffers <= 2 || kBuffers == kPieces, "a tile ends within a round of buffers: see open");

 public:
  using Pairs = typename Staging::Pairs;
  static constexpr int kPieceColumns = Staging::kPieceColumns;
  static constexpr bool kWantsWholePieces = true;  // all boxes of the map have the same width
  static constexpr bool kHasBufferAhead = kBuffers > 1;

  HOTGEMM_DEVICE BulkSink(const TensorMap& map, const GemmArgs& args, const ProductOf<kTraits>& product, int lane,
                          u32 buffers)
      : map_(map), args_(args), product_(product), staging_(args, lane, buffers) {}

  static HOTGEMM_DEVICE void prefetch_maps(const WgmmaArgs& args) { ptx::prefetch_tensormap(args.d); }
  /// All threads call the wait. If only some did, the compiler would serialise the products.
  static HOTGEMM_DEVICE void drain() { ptx::cp_async_bulk_wait_group_read<0>(); }

  HOTGEMM_DEVICE u32 buffer(int number) const { return staging_.buffer(number); }
  HOTGEMM_DEVICE void open(const WgmmaPiece& piece, bool copies, bool is_ahead) const {
    static_cast<void>(copies);
    // The buffer was last used kBuffers pieces ago. The stores of all pieces since then may go on. The piece in front
    // is not among them before it is closed. If kBuffers does not divide the pieces of a tile, the previous tile ended
    // with the buffer that this tile begins with.
    const bool follows_itself = piece.number == 0 && kPieces % kBuffers != 0;
    if (staging_.lane() == 0 && follows_itself) ptx::cp_async_bulk_wait_group_read<0>();
    if (staging_.lane() == 0 && !follows_itself && is_ahead)
      ptx::cp_async_bulk_wait_group_read<max_of(kBuffers - 2, 0)>();
    if (staging_.lane() == 0 && !follows_itself && !is_ahead) ptx::cp_async_bulk_wait_group_read<kBuffers - 1>();
    staging_.sync();  // the copy engine has read the buffer
  }
  HOTGEMM_DEVICE void copy(const WgmmaPiece& piece, u64 matrix, i64 ld) const { staging_.copy(piece, matrix, ld); }
  static HOTGEMM_DEVICE void await_copy() { Staging::await_copy(); }
  static constexpr int parts(const WgmmaPiece& piece) { return Staging::parts(piece); }
  HOTGEMM_DEVICE void fetch(Pairs& pairs, const WgmmaPiece& piece, int part) const {
    staging_.fetch(pairs, piece, part);
  }
  static HOTGEMM_DEVICE void sync() { Staging::sync(); }
  HOTGEMM_DEVICE void put(const WgmmaPiece& piece, int group, const u32 (&pairs)[4]) const {
    staging_.put(piece, group, pairs);
  }
  /// Takes a pair of 32-bit elements, as WideStaging does.
  template <class Pair>
  HOTGEMM_DEVICE void put(const WgmmaPiece& piece, int step, int half, const Pair& pair) const {
    staging_.put(piece, step, half, pair);
  }
  HOTGEMM_DEVICE const Staging& staging() const { return staging_; }
  HOTGEMM_DEVICE void close(const WgmmaPiece& piece) const {
    ptx::fence_proxy_async();
    staging_.sync();  // the lanes have written the buffer
    const int rows = min_of(piece.rows, WgmmaConfig::kStoreRows);
    const bool inside = piece.row + rows <= args_.m && piece.col + piece.cols <= args_.n;
    // The copy engine leaves out chunks of 16 bytes that lie outside D, but not a part of a chunk. Rows of the next
    // group are not outside.
    const bool in_bulk = piece.cols == kPieceColumns &&
                         (inside || ((kTraits.counts_rows() ? piece.row + rows <= args_.m : piece.row < args_.m) &&
                                     piece.col < args_.n && args_.n % kChunkElements == 0));
    if (!in_bulk) {
      if (inside) {
        staging_.store_whole(piece);
      } else {
        staging_.store_inside(piece);
      }
    }
    if (staging_.lane() == 0) {
#pragma unroll
      for (int row = 0; row < WgmmaConfig::kStoreRows; row += kBoxRows) {
        if (in_bulk && row < rows && (!kTraits.pointers || piece.row + row < args_.m))
          store_box(piece.col, piece.row + row, piece.buffer + row * WgmmaConfig::kStoreRowBytes);
      }
      ptx::cp_async_bulk_commit_group();  // an empty group if the lanes stored, so that each piece has a group
    }
  }
  HOTGEMM_DEVICE void end_tile() const {}

 private:
  HOTGEMM_DEVICE void store_box(int x, int y, u32 shared) const {
    if constexpr (kTraits.pointers) {
      const AddressPlace matrix = place_of(args_.d);
      if (!matrix.is_valid()) ptx::trap();
      ptx::cp_async_bulk_tensor_4d_store(map_, x, y, matrix.chunk, matrix.window, shared);
    } else if constexpr (kTraits.divides_rows()) {
      ptx::cp_async_bulk_tensor_2d_store(map_, x, product_.begin + y, shared);
    } else if constexpr (kTraits.batched) {
      ptx::cp_async_bulk_tensor_3d_store(map_, x, y, static_cast<int>(number_of(product_)), shared);
    } else {
      ptx::cp_async_bulk_tensor_2d_store(map_, x, y, shared);
    }
  }

  const TensorMap& map_;
  HeldGemm<kTraits> args_;
  ProductOf<kTraits> product_;
  Staging staging_;
};

/// The sink for a config.
template <GemmTraits kTraits, WgmmaConfig kConfig, bool kBulk = kConfig.stores_in_bulk(kTraits)>
struct SinkOf {
  using Type = LaneSink<kTraits, kConfig>;
};
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct SinkOf<kTraits, kConfig, true> {
  using Type = BulkSink<kTraits, kConfig>;
};

}  // namespace hotgemm
