#pragma once

// Family `wgmma`: Hopper's tensor cores, which read their operands from shared memory, or rows of words from registers
// (wgmma_products.cuh), and its copy engine. sm_90a.
//
//   global ──bulk copies by tensor──▶ shared, `stages` deep ──wgmma──▶ registers ──stmatrix──▶ shared ──▶ D
//
// Each stage has two barriers. A phase of `full` ends when the bytes of the stage have arrived, and the factors of its
// k-tile if there are scales of blocks. A phase of `empty` ends when all consumers have read the stage. There are four
// schedules:
//
//   cooperative  A block runs as long as the kernel and takes tile after tile. One warp of its first warpgroup, the
//                producer, issues the copies. Each other warpgroup, a consumer, computes a part of every tile. Both
//                sides count k-tiles over all tiles, so that the operands of the next tile arrive while the consumers
//                store.
//   ping-pong    The same, but the consumers take whole tiles in turns: one stores while another multiplies.
//   by threads   Cooperative, but the producer is one or two warpgroups that load operands with ragged rows themselves.
//   one tile     Each tile has its own block, and there is no producer: a thread of the first consumer copies.

#include "ptx/barrier.hpp"
#include "ptx/bulk_copy.hpp"
#include "ptx/cluster.hpp"
#include "ptx/elect.hpp"
#include "ptx/grid_dependency.hpp"
#include "ptx/index.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/memory.hpp"
#include "ptx/named_barrier.hpp"
#include "ptx/warp.hpp"
#include "ptx/wgmma.hpp"
#include "shared/wgmma_legality.hpp"
#include "wgmma_await.cuh"
#include "wgmma_cursor.cuh"
#include "wgmma_parts.cuh"
#include "wgmma_products.cuh"
#include "wgmma_promoted_sums.cuh"
#include "wgmma_scale_ring.cuh"

namespace hotgemm {

/// `Instruction` is the struct that wgmma_text (src/config/wgmma_instruction.hpp) has rendered for config and traits.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Instruction, class Parts>
class WgmmaGemm {
  static constexpr WgmmaTile kTileA = kConfig.a_tile(kTraits);
  static constexpr WgmmaTile kTileB = kConfig.b_tile(kTraits);
  static constexpr int kStages = kConfig.stages;
  static constexpr u32 kStageBytes = kConfig.stage_bytes(kTraits);
  static constexpr int kInstructions = kConfig.instructions();  // per k-step
  static constexpr int kCluster = kConfig.cluster();

  // One thread of each warp arrives at the end of a turn. A warp may be ahead of another by all products of a k-tile.
  // With one thread for a warpgroup, a turn could begin before the last warp has seen the start of the one before.
  static constexpr int kTurnThreads = kWarpSize;

  using LoadA = typename Parts::LoadA;
  using LoadB = typename Parts::LoadB;
  static constexpr bool kCopies = !LoadA::kByThreads || !LoadB::kByThreads;  // the copy engine loads an operand
  using Cursor = StageCursor<kStages>;
  using Scales = ScaleRing<kTraits, kConfig>;
  using Products = typename ProductsOf<Instruction, kTraits, kConfig>::Type;
  /// The threads of which one releases a stage: all of a consumer, whose products end together; or those of a warp, if
  /// lanes read the stage, or its scales, themselves.
  static constexpr bool kLanesRead = kConfig.loads_rows(kTraits) || Scales::kExists;
  static constexpr int kReleasers = kLanesRead ? kWarpSize : kWarpgroupThreads;
  using Epilogue = typename Parts::Epilogue;
  using Accumulator = typename Epilogue::Accumulator;
  using Sink = typename Epilogue::Sink;
  using Item = typename Parts::Schedule::Item;

 public:
  /// `workspace` is for a kernel whose blocks divide k.
  HOTGEMM_DEVICE WgmmaGemm(const WgmmaArgs& args, int thread, const WorkspaceArgs& workspace = {})
      : WgmmaGemm(args, thread, workspace, cluster_rank()) {}

  HOTGEMM_DEVICE void run() {
    if (thread_ == 0) make_barriers();
    // The fence in make_barriers orders the barriers before the arrival, which orders nothing by itself.
    if constexpr (kCluster > 1) ptx::barrier_cluster_arrive_relaxed();
    if (thread_ == kWarpSize) prefetch_share(args_.gemm.a, args_.prefetch.a);
    if (thread_ == 2 * kWarpSize) prefetch_share(args_.gemm.b, args_.prefetch.b);
    ptx::griddepcontrol_launch_dependents();
    if constexpr (kCluster > 1) {
      ptx::barrier_cluster_wait();
    } else {
      ptx::bar_sync();
    }
    ptx::griddepcontrol_wait();  // from here on global memory may be read and written
    // The shuffle tells the compiler that lanes have one value: it computes descriptors and copies once per warp.
    const auto warp = static_cast<int>(ptx::shfl_sync_idx_b32(static_cast<u32>(thread_ / kWarpSize), 0, 31, ~0u));
    const int warpgroup = warp / (kWarpgroupThreads / kWarpSize);
    if constexpr (kConfig.one_tile) {
      consume(warpgroup);
    } else if (warpgroup < kConfig.producers()) {  // one if with both roles, or the compiler ignores setmaxnreg
      if constexpr (kConfig.moves_registers()) ptx::setmaxnreg_dec<kConfig.producer_registers(kTraits)>();
      if constexpr (kConfig.loaders > 0) {
        load();
      } else {
        warp == 0 ? produce() : bring_scales();
      }
    } else {
      if constexpr (kConfig.moves_registers()) ptx::setmaxnreg_inc<kConfig.consumer_registers(kTraits)>();
      consume(warpgroup - kConfig.producers());
    }
    Sink::drain();  // by all threads
    // A block may end only when it has received all that its neighbours send. A producer waits for that itself
    // (await_neighbours); without one, all threads wait here.
    if constexpr (kCluster > 1 && kConfig.one_tile) ptx::barrier_cluster_wait();
  }

 private:
  HOTGEMM_DEVICE WgmmaGemm(const WgmmaArgs& args, int thread, const WorkspaceArgs& workspace, u32 rank)
      : args_(args),
        thread_(thread),
        workspace_(workspace),
        shared_(ptx::shfl_sync_idx_b32(ptx::dynamic_shared_base(), 0, 31, ~0u)),
        load_a_(args, rank),
        load_b_(args, rank),
        schedule_(args, rank) {}

  static HOTGEMM_DEVICE u32 cluster_rank() { return kCluster == 1 ? 0 : ptx::cluster_ctarank(); }

  // ---- barriers ----

  HOTGEMM_DEVICE u32 full(u32 stage) const { return shared_ + kConfig.barrier_offset(kTraits) + stage * 8; }
  HOTGEMM_DEVICE u32 empty(u32 stage) const { return full(stage) + kStages * 8; }
  HOTGEMM_DEVICE u32 go(u32 consumer) const { return empty(kStages) + consumer * 8; }

  HOTGEMM_DEVICE void make_barriers() const {
    for (u32 stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(full(stage), kConfig.loader_warps() + (kCopies ? 1 : 0) + Scales::kWriters);
      ptx::mbarrier_init(empty(stage), kConfig.readers() * kConfig.peers() * (kWarpgroupThreads / kReleasers));
    }
    if constexpr (kConfig.ping_pong) {
      for (u32 consumer = 0; consumer < kConfig.consumers; ++consumer)
        ptx::mbarrier_init(go(consumer), kWarpgroupThreads / kTurnThreads);
    }
    ptx::fence_mbarrier_init();
    if (schedule_.has_products()) {  // without products there are no maps of A and B
      load_a_.prefetch_maps();
      load_b_.prefetch_maps();
    }
    Sink::prefetch_maps(args_);
  }

  /// Waits until all bytes of the stage, and the scales, have arrived.
  HOTGEMM_DEVICE void await_full(const Cursor& cursor) const { await(full(cursor.stage), cursor.parity); }
  /// Waits until the stage is no longer read. In the first pass no stage is.
  HOTGEMM_DEVICE void await_empty(const Cursor& cursor) const { await(empty(cursor.stage), cursor.parity ^ 1); }

  // ---- copies ----

  /// Called by a whole warp, of which one thread copies. If only that thread took part, the compiler would compute the
  /// operands of copies in registers of its own and move them, which takes longer than the copies of a small tile.
  HOTGEMM_DEVICE void produce() const {
    Cursor cursor;
    schedule_.for_each_item([&](const Item& item) {
      const Copies copies = copies_of(item);
      for (int tile = 0; tile < item.k_tiles; ++tile) {
        await_empty(cursor);
        if (ptx::elect_sync()) copy_stage(cursor.stage, copies, tile);
        cursor.advance();
      }
    });
    if constexpr (kCluster > 1) await_neighbours(cursor);
  }

  /// Called by the warps of the producer that do not copy.
  HOTGEMM_DEVICE void bring_scales() const {
    Scales(shared_).produce(
        args_, schedule_, thread_ - kWarpSize, [&](const Cursor& cursor) { await_empty(cursor); },
        [&](u32 stage) { ptx::mbarrier_arrive(full(stage)); });
  }

  /// Waits until all blocks of the cluster have read the last k-tile in each stage. The arrivals that say so are the
  /// last that the neighbours send to this block. Their copies came before: this block's consumers have read them.
  HOTGEMM_DEVICE void await_neighbours(Cursor& cursor) const {
    for (int stage = 0; stage < kStages; ++stage) {
      await_empty(cursor);
      cursor.advance();
    }
  }

  /// The copies of an item's k-tiles, but for k.
  struct Copies {
    typename LoadA::Part a;
    typename LoadB::Part b;
    int first_k;
  };
  HOTGEMM_DEVICE Copies copies_of(const Item& item) const {
    return {load_a_.part(row_of_a(item), matrix_of(item)), load_b_.part(item.n, matrix_of(item)), first_k(item, 0)};
  }
  /// Copies the item's k-tile number `tile` into a stage that is no longer read. Called by one thread.
  HOTGEMM_DEVICE void copy_stage(u32 stage, const Copies& copies, int tile) const {
    const u32 barrier = full(stage), shared = shared_ + stage * kStageBytes;
    const int k = copies.first_k + tile * kConfig.block_k;
    ptx::mbarrier_arrive_expect_tx(barrier, copies.a.bytes + copies.b.bytes);
    load_a_.copy(shared, copies.a, k, barrier);
    load_b_.copy(shared + kTileA.bytes(), copies.b, k, barrier);
  }
  static HOTGEMM_DEVICE int first_k(const WorkItem& item, int tile) {
    return (item.first_k_tile + tile) * kConfig.block_k;
  }

  // ---- loads by threads ----

  /// Called by all threads of the loaders. While they store a k-tile, they load the next one of the item.
  HOTGEMM_DEVICE void load() const {
    Cursor cursor;
    typename LoadA::Pieces a;
    typename LoadB::Pieces b;
    schedule_.for_each_item([&](const Item& item) {
      if constexpr (kTraits.batched) {
        load_item(item, load_a_.of(args_, item.product), load_b_.of(args_, item.product), a, b, cursor);
      } else {
        load_item(item, load_a_, load_b_, a, b, cursor);
      }
    });
  }
  HOTGEMM_DEVICE void load_item(const Item& item, const LoadA& load_a, const LoadB& load_b, typename LoadA::Pieces& a,
                                typename LoadB::Pieces& b, Cursor& cursor) const {
    if (item.k_tiles == 0) return;
    const Copies copies = copies_of(item);
    load_a.fetch(a, item.m, first_k(item, 0));
    load_b.fetch(b, item.n, first_k(item, 0));
    for (int tile = 0; tile < item.k_tiles; ++tile) {
      await_empty(cursor);
      if constexpr (kCopies) {
        if (thread_ < kWarpSize && ptx::elect_sync()) copy_stage(cursor.stage, copies, tile);
      }
      const u32 shared = shared_ + cursor.stage * kStageBytes;
      replace(load_a, a, shared, item.m, item, tile);
      replace(load_b, b, shared + kTileA.bytes(), item.n, item, tile);
      ptx::fence_proxy_async();  // wgmma reads what this thread has stored
      ptx::bar_warp_sync(~0u);   // all lanes have stored
      if (thread_ % kWarpSize == 0) ptx::mbarrier_arrive(full(cursor.stage));
      cursor.advance();
    }
  }

  /// Stores the pieces of k-tile `tile`, and loads those of the next one.
  template <class Load>
  static HOTGEMM_DEVICE void replace(const Load& load, typename Load::Pieces& pieces, u32 shared, int outer,
                                     const WorkItem& item, int tile) {
    if (tile + 1 < item.k_tiles) {
      load.exchange(pieces, shared, outer, first_k(item, tile + 1));
    } else {
      load.store(pieces, shared);
    }
  }

  // ---- products ----

  HOTGEMM_DEVICE void consume(int consumer) const {
    const int warp = consumer * 4 + thread_ % kWarpgroupThreads / kWarpSize;
    Cursor cursor;
    Accumulator accumulators[kInstructions];  // zeros: with k = 0 no product overwrites them
    if constexpr (kConfig.split_k) {
      const auto make = [&](const ProductOf<kTraits>& product) {
        return Epilogue(args_, product, workspace_, consumer * kWarpgroupThreads + thread_ % kWarpgroupThreads,
                        shared_ + kConfig.store_offset(kTraits));
      };
      for_each_item(make, [&](const Item& item, const auto& epilogue) {
        multiply(accumulators, cursor, consumer, item);
        epilogue().store(accumulators, item);
      });
      return;
    } else {
      const int without_buffers = consumer * (4 - kConfig.store_warps());  // warps of the consumers before this one
      const auto make = [&](const ProductOf<kTraits>& product) {
        return Epilogue(
            args_, product, thread_ % kWarpSize,
            shared_ + kConfig.store_offset(kTraits) + (warp - without_buffers) * kConfig.warp_store_bytes(kTraits));
      };
      for_each_item(make, [&](const Item& item, const auto& epilogue) {
        if (kConfig.ping_pong && item.turn % kConfig.consumers != static_cast<u32>(consumer)) {
          cursor.advance(static_cast<u32>(item.k_tiles));
          return;
        }
        if constexpr (kTraits.counts_rows() && !kConfig.ping_pong) {
          if (item.m + kConfig.first_row(consumer) >= item.group.rows) return pass(cursor, item);
        }
        const auto row = [&](int above) { return item.m + kConfig.first_row(consumer) + above; };
        const auto col = [&] { return item.n + kConfig.first_col(consumer); };
        if constexpr (kTraits.is_fused()) {
          if (warp % 4 == 0) epilogue().prefetch(row(0), col());
        }
        if constexpr (Epilogue::kRequestsAhead) epilogue().request(row(warp % 4 * WgmmaConfig::kStoreRows), col());
        if constexpr (kConfig.ping_pong) await_turn(consumer, item);
        multiply(accumulators, cursor, consumer, item);
        epilogue().store(accumulators, row(warp % 4 * WgmmaConfig::kStoreRows), col());
      });
    }
  }

  /// Gives back the stages of an item of which this consumer has no rows.
  HOTGEMM_DEVICE void pass(Cursor& cursor, const WorkItem& item) const {
    for (int tile = 0; tile < item.k_tiles; ++tile, cursor.advance()) {
      await_full(cursor);
      ptx::bar_sync(1 + thread_ / kWarpgroupThreads, kWarpgroupThreads);  // or a late warp takes the next phase for it
      release(cursor.stage);
    }
  }

  /// Calls use(item, epilogue) for each item. epilogue() is that of its product: in a batch a new one at each call.
  template <class Make, class Use>
  HOTGEMM_DEVICE void for_each_item(const Make& make, const Use& use) const {
    if constexpr (kTraits.batched) {
      schedule_.for_each_item([&](const Item& item) { use(item, [&] { return make(product_of(item)); }); });
    } else {
      const Epilogue epilogue = make(0);
      const Epilogue* const address = &epilogue;
      schedule_.for_each_item([&](const Item& item) { use(item, [&]() -> const Epilogue& { return *address; }); });
    }
  }

  /// Waits until the previous consumer has seen all its stages full. Otherwise a consumer that is ahead by two passes
  /// through the ring would mistake the end of an earlier phase, of the same parity, for the one that it waits for.
  HOTGEMM_DEVICE void await_turn(int consumer, const WorkItem& item) const {
    if (item.k_tiles == 0) return;  // no stages to wait for; and without products a consumer's warps can drift apart
    const u32 parity = item.turn / kConfig.consumers & 1;
    await(go(static_cast<u32>(consumer)), consumer == 0 ? parity ^ 1 : parity);  // the very first turn does not wait
  }
  HOTGEMM_DEVICE void end_turn(int consumer, const WorkItem& item) const {
    if (item.k_tiles > 0 && thread_ % kTurnThreads == 0)
      ptx::mbarrier_arrive(go(static_cast<u32>(consumer + 1) % kConfig.consumers));
  }

  /// The products of one k-tile are in flight while those of the next are issued, so a stage is released one k-tile
  /// late. With `promote`, PromotedSums decides.
  HOTGEMM_DEVICE void multiply(Accumulator (&accumulators)[kInstructions], Cursor& cursor, int consumer,
                               const Item& item) const {
    Products products(shared_, consumer, thread_ % kWarpgroupThreads);
    products.begin(accumulators, item.k_tiles > 0);
    // True in the first warp. Two measures keep the compiler from serialising the products: all lanes of the warp take
    // the same branches, and `pin` hides that the accumulators are zeros.
    const bool is_producer =
        kConfig.one_tile && ptx::shfl_sync_idx_b32(static_cast<u32>(thread_ / kWarpSize), 0, 31, ~0u) == 0;
    if constexpr (kConfig.one_tile) pin(accumulators);
    if (kTraits.along_k && item.k_tiles == 0) clear(accumulators);  // they hold the sums of the tile before
    const Copies copies = copies_of(item);
    if (is_producer && ptx::elect_sync()) {
      for (int tile = 0; tile < min_of(kStages, item.k_tiles); ++tile) copy_stage(static_cast<u32>(tile), copies, tile);
    }
    const auto give_back = [&](const Cursor& place, int tile) {
      if (!is_given_back(item, tile)) return;
      release(place.stage);
      if (is_producer) {
        await(empty(place.stage), place.parity);
        if (ptx::elect_sync()) copy_stage(place.stage, copies, tile + kStages);
      }
    };
    Cursor previous;
    if constexpr (kConfig.promote) {
      using Promotion = typename Parts::Promotion;
      PromotedSums<kTraits, kConfig, Products, Promotion, Accumulator> sums(
          accumulators, products, Promotion(item, consumer, thread_ % kWarpgroupThreads), shared_);
      sums.add(
          cursor, item.k_tiles, [&](const Cursor& place) { await_full(place); }, give_back);
    } else {
      for (int tile = 0; tile < item.k_tiles; ++tile) {
        await_full(cursor);
        products.begin_k_tile(accumulators, cursor.stage, tile > 0);
        if (tile > 0) give_back(previous, tile - 1);
        products.continue_k_tile(accumulators, cursor.stage, tile > 0);
        previous = cursor;
        cursor.advance();
      }
    }
    if constexpr (kConfig.ping_pong) end_turn(consumer, item);
    ptx::wgmma_wait_group<0>();
    pin(accumulators);
    products.meet();
    if (!kConfig.promote && item.k_tiles > 0 && is_given_back(item, item.k_tiles - 1)) release(previous.stage);
    products.finish(accumulators);
    // The block has received all that its neighbours send: their copies, because all its stages were full, and their
    // arrivals, because it waited for these before its own last copies.
    if constexpr (kCluster > 1 && kConfig.one_tile) ptx::barrier_cluster_arrive_relaxed();
  }

  /// True if the stage of k-tile `tile` is released. Persistent blocks release every stage; one-tile blocks release
  /// only stages that receive another k-tile.
  static HOTGEMM_DEVICE bool is_given_back(const WorkItem& item, int tile) {
    return !kConfig.one_tile || tile + kStages < item.k_tiles;
  }

  /// Releases a stage for its readers: one thread arrives at the barrier of each block that copies into it.
  HOTGEMM_DEVICE void release(u32 stage) const {
    const u32 block = static_cast<u32>(thread_ % kReleasers);
    if constexpr (kCluster == 1) {
      if (block == 0) ptx::mbarrier_arrive(empty(stage));
    } else if constexpr (kConfig.peers() == kCluster) {
      if (block < kCluster) ptx::mbarrier_arrive_cluster(ptx::mapa(empty(stage), block));
    } else {
      if (block < kCluster && is_peer(block)) ptx::mbarrier_arrive_cluster(ptx::mapa(empty(stage), block));
    }
  }

  /// True if the block of the cluster shares this one's A or B.
  static HOTGEMM_DEVICE bool is_peer(u32 block) {
    const u32 rank = cluster_rank();
    return block % kConfig.cluster_m == rank % kConfig.cluster_m ||
           block / kConfig.cluster_m == rank / kConfig.cluster_m;
  }

  const WgmmaArgs& args_;
  int thread_;
  WorkspaceArgs workspace_;
  u32 shared_;
  LoadA load_a_;
  LoadB load_b_;
  typename Parts::Schedule schedule_;
};

/// The grid consists of whole clusters. With schedule `one tile` it has one block for each tile, otherwise at most as
/// many blocks as the GPU holds at once.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Instruction, class Parts = WgmmaParts<kTraits, kConfig>>
HOTGEMM_DEVICE void wgmma_gemm(const WgmmaArgs& args) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  WgmmaGemm<kTraits, kConfig, Instruction, Parts>(args, ptx::thread_index()).run();
}

/// The same for a config whose blocks divide k. The grid has `splits` blocks for each tile.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Instruction>
HOTGEMM_DEVICE void wgmma_split_gemm(const WgmmaArgs& args, const WorkspaceArgs& workspace) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  using Parts = WgmmaSplitParts<kTraits, kConfig>;
  WgmmaGemm<kTraits, kConfig, Instruction, Parts>(args, ptx::thread_index(), workspace).run();
}

}  // namespace hotgemm
