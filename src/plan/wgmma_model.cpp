#include "plan/wgmma_model.hpp"

#include "config/launch_config.hpp"
#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "plan/epilogue_work.hpp"
#include "shared/repack_args.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace hotgemm {
namespace {

constexpr int kLineBytes = 128;
constexpr int kSectorBytes = 32;

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// The distribution of tiles over the SMs. The tiles of a cluster are taken together, including those beyond the edge
/// of D.
struct Waves {
  double sms;         ///< SMs that have work
  double busiest;     ///< number of tiles of the busiest SM
  double concurrent;  ///< number of tiles that run on that SM at once
};

Waves waves_of(const WgmmaConfig& c, const SeenWorkload& p, const DeviceInfo& device, int resident, int splits) {
  const double groups = ceil_div(static_cast<double>(p.m), c.block_m * c.cluster_m) *
                        ceil_div(static_cast<double>(p.n), c.block_n * c.cluster_n) * static_cast<double>(p.batch) *
                        splits;
  const double tiles = groups * c.cluster();
  const double sms = std::max(sms_of_clusters(device.sm_count, c.cluster()) / c.cluster(), 1) * c.cluster();
  const double full = std::floor(tiles / (sms * resident));
  return {.sms = std::min(sms, tiles),
          .busiest = full * resident + ceil_div(tiles - full * sms * resident, sms),
          .concurrent = std::min<double>(resident, ceil_div(tiles, sms))};
}

/// Tensor-core cycles for a k-tile. An instruction reads both operands from shared memory. For a narrow instruction
/// these reads are the limit: measured rates fall below n = 64. Power binds less where products wait for promotions.
double tensor_cycles(const WgmmaConfig& c, const GemmTraits& t, const WgmmaModel& model) {
  const double n = c.instruction_n();
  const double instructions = c.block_m * c.block_n / (kWgmmaM * n) * c.b_tile(t).k_steps();
  const double read = (kWgmmaM + n) * kWgmmaKBytes;
  const double share = c.promote ? model.promoted : model.sustained;
  return instructions * std::max(n / 2 / share, read / model.shared_bytes);
}

/// Cycles of the tensor cores for a k-tile in which products wait for rows that lanes load. Products of another
/// consumer fill the wait. Promoted sums wait otherwise (promotion_cycles).
double loaded_cycles(const WgmmaConfig& c, const GemmTraits& t, const Waves& waves, const WgmmaModel& model) {
  const bool is_alone = c.readers() * waves.concurrent < 2;
  return c.loads_rows(t) && !c.promote && is_alone ? model.loaded_step_cycles * c.a_tile(t).k_steps() : 0;
}

double shared_cycles(const WgmmaConfig& c, const GemmTraits& t, const WgmmaModel& model) {
  // Each instruction reads its 64 rows and all of its columns.
  const double rows = c.transposed ? c.block_n : c.block_m, columns = c.transposed ? c.block_m : c.block_n;
  const double read =
      (columns / c.instruction_n() * rows + rows / kWgmmaM * columns) * c.block_k * size_bytes(t.element);
  return (read + model.write_share * c.stage_bytes(t)) / model.shared_bytes;
}

/// An operand as it is stored: along k it has k elements, along m or n `extent`.
struct Stored {
  std::int64_t extent, k;
  bool is_copied;
};
Stored stored_a(const SeenWorkload& p) { return {p.m, p.k, p.copied_a}; }
Stored stored_b(const SeenWorkload& p) { return {p.n, p.k, p.copied_b}; }

/// Rows of boxes `width` bytes wide begin at any multiple of this many bytes. Rows that are not copies are assumed to
/// follow each other as closely as tensor maps allow.
double grain_of(const WgmmaTile& tile, const Stored& operand, int width) {
  const std::int64_t row = (tile.k_major ? operand.k : operand.extent) * tile.element_bytes;
  const std::int64_t pitch = operand.is_copied ? repacked_pitch(row) : (row + 15) / 16 * 16;
  return static_cast<double>(std::gcd<std::int64_t>(pitch, width));
}

/// Copy-engine cycles for a k-tile of an operand that `sharers` blocks share. Boxes of a square are whole.
double engine_cycles(const WgmmaTile& tile, const Stored& operand, int sharers, bool in_square,
                     const WgmmaModel& model) {
  const int width = tile.swizzle_bytes;
  const double grain = grain_of(tile, operand, width);
  const double lines = (width - grain) / kLineBytes, sectors = std::max(0.0, 1 - grain / kSectorBytes);
  const double shared = 1 - 1.0 / sharers;
  const double row = model.row_cycles * (1 - model.row_saves * shared) +
                     (lines * model.line_cycles + sectors * model.sector_cycles) * (1 - model.edge_saves * shared);
  const bool is_cut = tile.k_major && !in_square;
  const double rows = is_cut ? std::min<double>(tile.outer, static_cast<double>(operand.extent)) : tile.rows();
  return rows * tile.slabs() * row;
}

/// Cycles of the load-store units for a k-tile of an operand that threads load; 0 for any other. If rows begin at odd
/// elements, half of them take two loads for each word.
double load_cycles(const WgmmaConfig& c, const GemmTraits& t, const WgmmaTile& tile, int vec, const WgmmaModel& model) {
  if (!c.loads_by_threads(t, vec)) return 0;
  return tile.bytes() / model.shared_bytes * (vec == 1 ? model.odd_loads : model.even_loads);
}

/// Cycles of the copy engine and of L2. Elements beyond the edges of the matrices are not read from L2.
double copy_cycles(const WgmmaConfig& c, const GemmTraits& t, const SeenWorkload& p, double sms,
                   const WgmmaModel& model) {
  const double m = std::min<double>(c.block_m, static_cast<double>(p.m));
  const double n = std::min<double>(c.block_n, static_cast<double>(p.n));
  const double saved = m * (1 - 1.0 / c.cluster_n) + n * (1 - 1.0 / c.cluster_m);
  const double asked = (m + n - model.cluster_saves * saved) * c.block_k * size_bytes(t.element);
  double engine = 0;
  const auto add = [&](const WgmmaTile& tile, const Stored& operand, int sharers, int vec) {
    if (!c.loads_by_threads(t, vec)) engine += engine_cycles(tile, operand, sharers, c.is_square(), model);
  };
  add(c.a_tile(t), stored_a(p), c.cluster_n, t.vec_a);
  add(c.b_tile(t), stored_b(p), c.cluster_m, t.vec_b);
  return std::max(engine, asked / (model.l2_total_bytes / sms));
}

/// The least time for a k-tile because of the instructions that load it: the mean over `k_tiles`. A one-tile block has
/// the copies for its stages under way before it multiplies, and pays for the others.
double issue_cycles(const WgmmaConfig& c, const GemmTraits& t, double k_tiles, const WgmmaModel& model) {
  if (c.one_tile) {
    const double copied_late = std::max(k_tiles - c.stages, 0.0) / std::max(k_tiles, 1.0);
    const double slabs = static_cast<double>(c.block_k) * size_bytes(t.element) / kLineBytes;
    return (model.one_tile_cycles + model.one_tile_slab_cycles * slabs) * copied_late;
  }
  return c.loaders > 0 ? model.thread_cycles : 0;
}

GemmTraits with_epilogue(GemmTraits traits, const Epilogue& epilogue) {
  traits.epilogue = epilogue;
  return traits;
}

/// Cycles for a k-tile in which a consumer waits for its products and adds them; it waits less where the next products
/// are in flight. One other consumer multiplies meanwhile. Lanes load rows only when the products before have ended
/// (kLoadRows for each instruction). Scales of blocks make each addition a product of three registers, which tensor
/// cores that read theirs hold up; and a part of a tile that touches two blocks of columns chooses between their
/// scales. Fitted to seven configs that take scales (docs/notebook/epilogues.md, 13); late waits, and what it takes to
/// load scales, to configs of docs/notebook/types.md, 12, and epilogues.md, 20.
double promotion_cycles(const WgmmaConfig& c, const GemmTraits& t, const Waves& waves) {
  if (!c.promote) return 0;
  constexpr double kWait = 200, kWaitLate = 50, kLoadRows = 180, kTakeScales = 40;
  constexpr double kOfScale = 0.46, kOfChoice = 0.2;  // clocks of the SM for an addition by each thread of a consumer
  const double additions = static_cast<double>(c.consumer_m()) * c.consumer_n() / kWarpgroupThreads;
  const double others = std::min(c.readers(), 2) * waves.concurrent;
  const double intervals = c.intervals();
  const double wait = c.adds_late(t) ? kWaitLate : kWait;
  const double plain = (intervals * (additions + wait) + (c.loads_rows(t) ? kLoadRows * c.instructions() : 0)) / others;
  if (!t.epilogue.has_block_scales()) return plain;
  const int columns = c.transposed ? 1 : c.scale_columns(t);
  const double of_addition = kOfScale + kOfChoice * (columns - 1);
  return plain + intervals * (kTakeScales / others + of_addition * additions * c.readers());
}

/// Cycles that an SM needs for a k-tile of one of its tiles while its other tiles run beside it.
double k_tile_cycles(const WgmmaConfig& c, const GemmTraits& t, const SeenWorkload& p, const Waves& waves,
                     double k_tiles, const WgmmaModel& model) {
  const double loads = load_cycles(c, t, c.a_tile(t), t.vec_a, model) + load_cycles(c, t, c.b_tile(t), t.vec_b, model);
  const double tensor = tensor_cycles(c, t, model) + loaded_cycles(c, t, waves, model);
  const double shared = shared_cycles(c, t, model) + loads;
  const double copy = copy_cycles(c, t, p, waves.sms, model);
  // The first copies arrive together after one latency. The others arrive in turns, each with as many copies as are in
  // flight at once.
  const double turns = 1 + std::max(k_tiles - c.stages, 0.0) / (c.stages - model.held_stages);
  const double latency = (model.latency_cycles + copy) * turns / (std::max(k_tiles, 1.0) * waves.concurrent);
  const double issue = issue_cycles(c, t, k_tiles, model) / waves.concurrent;
  const double bound = std::max({tensor, shared, copy, latency, issue});
  const double waits = model.wait_cycles / (c.readers() * waves.concurrent) +
                       (c.cluster() > 1 ? model.cluster_k_cycles / waves.concurrent : 0);
  const double held_up = c.cluster() == 1 ? 0 : c.cluster() == 2 ? model.cluster_share : model.large_cluster_share;
  return (bound + model.unbound_share * (tensor + shared + copy)) * (1 + held_up) + waits +
         promotion_cycles(c, t, waves);
}

/// The share of tiles that do not begin at a line of D, so that each piece of a row crosses into another line. Rows of
/// D are assumed to begin at lines: where they do not, pieces of all tiles cross, and it was not measured what that
/// costs.
double crossing_share(const WgmmaConfig& c, const GemmTraits& t) {
  const std::int64_t width = t.epilogue.columns_of_d(c.block_n) * size_bytes(t.element_d);
  return 1 - static_cast<double>(std::gcd(width, std::int64_t{kLineBytes})) / kLineBytes;
}

/// Cycles in which `warpgroups` together store, or load, the elements of `matrices` matrices for a tile.
double moved_cycles(const WgmmaConfig& c, const GemmTraits& t, double matrices, double warpgroups,
                    const WgmmaModel& model) {
  const double bytes = static_cast<double>(c.block_m) * t.epilogue.columns_of_d(c.block_n) * size_bytes(t.element_d);
  const double rate = !c.has_aligned_d(t) ? model.narrow_store_bytes
                                          : model.store_bytes / (1 + model.crossing_store * crossing_share(c, t));
  return matrices * bytes / (rate * (warpgroups < 2 ? model.lone_store : 1));
}

/// Cycles from the last product of a tile to its last store, by `warpgroups` together. A warp that copies matrices does
/// so piece by piece, and waits for each copy.
double epilogue_cycles(const WgmmaConfig& c, const GemmTraits& t, double warpgroups, const WgmmaModel& model) {
  const EpilogueWork work = epilogue_work(t.epilogue);
  const double columns = t.epilogue.columns_of_d(c.block_n), elements = c.block_m * columns;
  const double share = std::min(1.0, warpgroups / 2);
  const double slots =
      model.fused_slots * share * (share < 1 ? model.lone_slots : 1) * (c.transposed ? model.transposed_slots : 1);
  const double copies = c.copies_matrices(t) ? work.matrices_read : 0;
  const double copy = copies_ahead(c, t) ? model.matrix_cycles : model.lone_matrix_cycles;
  const double pieces = static_cast<double>(c.consumer_m()) / kWgmmaM *
                        ceil_div(t.epilogue.columns_of_d(c.consumer_n()), c.store_cols(t));
  const double exchanged = c.exchanges_sums(t) ? static_cast<double>(c.block_m) * c.block_n : 0;
  return moved_cycles(c, t, 1 + (t.reads_c ? 1 : 0) + work.matrices, warpgroups, model) +
         exchanged / (model.exchanged_sums * share) + elements * work.instructions / slots + copies * pieces * copy +
         model.epilogue_cycles + (c.transposed ? model.exchange_cycles : 0);
}

/// The cycles of the stores of a tile that the copy engine makes while the block multiplies its next tile: those of the
/// pieces that have buffers of their own.
double hidden_cycles(const WgmmaConfig& c, const GemmTraits& t, const WgmmaModel& model) {
  if (c.one_tile || c.split_k || !c.stores_in_bulk(t)) return 0;
  const double share = std::min(1.0, static_cast<double>(c.store_buffers(t)) / c.store_pieces(t));
  return share * moved_cycles(c, t, 1, c.readers(), model);
}

/// Bytes of a row of A, and of a column of B, of all products of a batch.
double row_bytes(const SeenWorkload& p) {
  return static_cast<double>(p.k) * size_bytes(p.types.a) * static_cast<double>(p.batch);
}

/// The share of the operands that L2 does not hold.
double missed_share(const SeenWorkload& p, const DeviceInfo& device) {
  const double all = static_cast<double>(p.m + p.n) * row_bytes(p);
  return std::max(0.0, 1 - static_cast<double>(device.l2_bytes) / std::max(all, 1.0));
}

/// How many clusters read each part of A, and of B.
struct Readings {
  double of_a, of_b;
};
Readings readings_of(const WgmmaConfig& c, const SeenWorkload& p) {
  return {.of_a = ceil_div(static_cast<double>(p.n), c.block_n * c.cluster_n),
          .of_b = ceil_div(static_cast<double>(p.m), c.block_m * c.cluster_m)};
}

}  // namespace

double wgmma_compute_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                        int splits, const WgmmaModel& model, const Epilogue& epilogue) {
  const GemmTraits traits = with_epilogue(problem.traits, epilogue);
  const Waves waves = waves_of(c, problem, device, resident, splits);
  const double k_tiles = ceil_div(ceil_div(static_cast<double>(problem.k), c.block_k), splits);
  const double products = k_tiles * k_tile_cycles(c, traits, problem, waves, k_tiles, model);
  const double block =
      c.loaders > 0 ? model.loader_cycles : model.block_cycles + (c.one_tile ? 0 : model.producer_cycles);
  const double start = block + (c.cluster() > 1 ? model.cluster_cycles : 0);
  double cycles = 0;
  const double store = c.split_k ? 0 : epilogue_cycles(c, traits, c.readers(), model) / waves.concurrent;
  if (c.ping_pong) {
    // The products of one consumer run while the other stores. Nothing hides the store of the last tile.
    cycles = start + waves.busiest * std::max(products, (products + store) / 2) + store;
  } else {
    const double blocks =
        c.one_tile || c.split_k ? waves.busiest / waves.concurrent : 1;  // blocks that run one after another
    const double gap = model.tile_cycles / waves.concurrent;
    const double hidden = std::min(hidden_cycles(c, traits, model) / waves.concurrent, products);
    const double tile = products + store - hidden + gap;
    cycles = blocks * start + (blocks - 1) * model.turnover_cycles + waves.busiest * tile - gap +
             hidden * waves.concurrent;  // nothing hides the stores of the last tiles
  }
  return cycles / device.clock_mhz;
}

double wgmma_reduce_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                       int splits, const WgmmaModel& model, const Epilogue& epilogue) {
  if (!c.split_k) return 0;
  const Waves waves = waves_of(c, problem, device, resident, splits);
  const double slot_bytes = static_cast<double>(c.block_m) * c.block_n * 4;
  const double owners = std::min(splits, c.block_m * c.block_n / (16 * 8));
  const double read_bytes = slot_bytes * splits / owners;
  const double moved = (slot_bytes + read_bytes) * waves.concurrent / model.slot_bytes;
  const double fused = epilogue_cycles(c, with_epilogue(problem.traits, epilogue), c.readers(), model) -
                       epilogue_cycles(c, problem.traits, c.readers(), model);
  const double turns = waves.busiest / waves.concurrent;  // tiles that one block slot of an SM runs in turn
  return turns * (model.arrive_cycles + moved + model.epilogue_cycles + fused / owners) / device.clock_mhz;
}

double wgmma_narrow_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device,
                       const WgmmaModel& model) {
  if (problem.batch > 1) return 0;
  const GemmTraits& traits = problem.traits;
  const auto bytes_of_row = [&](const WgmmaTile& tile, const Stored& operand, int sharers, int vec) {
    const double row = static_cast<double>(operand.extent) * tile.element_bytes;
    if (tile.k_major || row >= kLineBytes || c.loads_by_threads(traits, vec)) return 0.0;
    return tile.slabs() * tile.swizzle_bytes * (sharers > 2 ? model.narrow_four : 1) *
           std::pow(kSectorBytes / row, model.narrow_growth);
  };
  const double clusters = ceil_div(static_cast<double>(problem.m), c.block_m * c.cluster_m) *
                          ceil_div(static_cast<double>(problem.n), c.block_n * c.cluster_n);
  const double bytes = bytes_of_row(c.a_tile(traits), stored_a(problem), c.cluster_n, traits.vec_a) +
                       bytes_of_row(c.b_tile(traits), stored_b(problem), c.cluster_m, traits.vec_b);
  return clusters * c.cluster() * static_cast<double>(problem.k) * bytes / model.narrow_bytes / device.clock_mhz;
}

double wgmma_repeated_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device,
                         const WgmmaModel& model) {
  if (!c.split_k) return 0;
  const auto [of_a, of_b] = readings_of(c, problem);
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const double repeated = (m * (of_a - 1) + n * (of_b - 1)) * row_bytes(problem);
  return repeated / (c.cluster() == 1 ? model.merged_bytes : model.repeated_bytes) / device.clock_mhz;
}

double wgmma_unmerged_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device,
                         const WgmmaModel& model) {
  if (!c.split_k || c.cluster() == 1) return 0;
  const GemmTraits& traits = problem.traits;
  const auto [of_a, of_b] = readings_of(c, problem);
  const auto cost = [&](const WgmmaTile& tile, const Stored& operand) {
    const double crossing = 1 - grain_of(tile, operand, kLineBytes) / kLineBytes;
    return static_cast<double>(operand.extent) * (1 + model.crossing_cost * crossing);
  };
  const double rows =
      cost(c.a_tile(traits), stored_a(problem)) * of_a + cost(c.b_tile(traits), stored_b(problem)) * of_b;
  return rows * row_bytes(problem) * missed_share(problem, device) / model.unmerged_bytes / device.clock_mhz;
}

double wgmma_beyond_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device,
                       const WgmmaModel& model) {
  if (!c.split_k) return 0;
  const GemmTraits& traits = problem.traits;
  const auto beyond = [](std::int64_t extent, int tile) {
    return ceil_div(static_cast<double>(extent), tile) * tile - static_cast<double>(extent);
  };
  const double columns = (c.a_tile(traits).k_major ? 0 : beyond(problem.m, c.block_m * c.cluster_m)) +
                         (c.b_tile(traits).k_major ? 0 : beyond(problem.n, c.block_n * c.cluster_n));
  return columns * row_bytes(problem) * missed_share(problem, device) / model.beyond_bytes / device.clock_mhz;
}

std::vector<int> wgmma_splits(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device) {
  if (!c.split_k) return {1};
  const auto ceil_of = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  constexpr std::int64_t kMany = 1 << 30;
  const std::int64_t of_one = ceil_of(problem.m, c.block_m * c.cluster_m) * ceil_of(problem.n, c.block_n * c.cluster_n);
  const std::int64_t clusters = std::min(of_one, kMany) * problem.batch;
  const std::int64_t tiles = std::max<std::int64_t>(clusters * c.cluster(), 1);  // an empty problem may be planned
  const std::int64_t k_tiles = ceil_of(std::max<std::int64_t>(problem.k, 1), c.block_k);
  const std::int64_t sms = sms_of_clusters(device.sm_count, c.cluster());
  const std::int64_t room = sms * c.blocks_per_sm / tiles;  // splits that one wave holds
  const std::int64_t most = std::clamp<std::int64_t>(std::min(room, k_tiles), 1, kMostSplits);
  std::vector<int> splits{static_cast<int>(most)};
  // Fewer parts with one k-tile more each, and so on, in growing steps.
  for (std::int64_t part = ceil_of(k_tiles, most); part <= k_tiles && splits.back() > 1;) {
    const int count = static_cast<int>(ceil_of(k_tiles, part));
    // Two SMs share their way to L2, so that a pair with two blocks ends later than a pair with one.
    const bool is_uneven = 2 * count * tiles > sms && 10 * count * tiles < 9 * sms;
    if (count < splits.back() && !is_uneven) splits.push_back(count);
    part += std::max<std::int64_t>(part / 4, 1);
  }
  return splits;
}

int wgmma_best_splits(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                      const WgmmaModel& model) {
  if (!c.split_k) return 1;
  int best = 1;
  double least_us = std::numeric_limits<double>::infinity();
  for (const int splits : wgmma_splits(c, problem, device)) {
    const double us = wgmma_compute_us(c, problem, device, resident, splits, model) +
                      wgmma_reduce_us(c, problem, device, resident, splits, model);
    if (us < least_us) best = splits;
    least_us = std::min(us, least_us);
  }
  return best;
}

}  // namespace hotgemm
