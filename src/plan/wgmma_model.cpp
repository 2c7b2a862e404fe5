#include "plan/wgmma_model.hpp"

#include "config/traits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace hotgemm {
namespace {

// Of an H200. Rates are per SM and clock where nothing else is said; where the figures come from stands in
// docs/kernels/wgmma.md.
constexpr double kSustained = 0.85;  // of the tensor cores' nominal rate: what power leaves on random data
constexpr double kSharedBytes = 128;
constexpr double kWriteShare = 0.5;        // a byte that a copy writes to shared memory costs this much of one read
constexpr double kCopyBytes = 78;          // the copy engine's pace
constexpr double kRowCycles = 1.05;        // the least that it takes for a row of a box
constexpr double kLineCycles = 1;          // more for a row that crosses into another line
constexpr double kSectorCycles = 1;        // more for a row that begins within a sector
constexpr double kL2TotalBytes = 9000;     // for all SMs: L2 answers neighbours that ask for the same together
constexpr double kLatencyCycles = 1200;    // from a copy's issue to its data, out of DRAM
constexpr double kHeldStages = 0.8;        // that are being read, so that no copy is on its way to them
constexpr double kWaitCycles = 10;         // a k-tile's waits and fences, where no other warpgroup multiplies
constexpr double kOneTileCycles = 270;     // a k-tile's least, where who multiplies copies
constexpr double kUnboundShare = 0.02;     // of what does not bind: contention and power
constexpr double kBlockCycles = 300;       // a block's start, beside its first copies
constexpr double kPersistentCycles = 500;  // the same with a producer
constexpr double kTurnoverCycles = 1500;   // between a block's end and the next one's start on its SM
constexpr double kTileCycles = 300;        // until all consumers are done with one tile and into the next
constexpr double kClusterSaves = 0.5;      // of what a block copies for its neighbour too, for the engine and for L2
constexpr double kClusterCycles = 600;     // blocks that start together wait for each other
constexpr double kClusterShare = 0.02;     // and so do their pipelines
constexpr double kStoreBytes = 64;         // of D and C, by two warpgroups
constexpr double kEpilogueCycles = 100;    // until the first store

constexpr int kLineBytes = 128;
constexpr int kSectorBytes = 32;

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// How the tiles fall on the SMs. A cluster's tiles are taken together, those beyond D's edge included.
struct Waves {
  double sms;         ///< that have work
  double busiest;     ///< tiles that the busiest of them has
  double concurrent;  ///< of which so many at once
};

Waves waves_of(const WgmmaConfig& c, const Workload& p, const DeviceInfo& device, int resident) {
  const double groups = ceil_div(static_cast<double>(p.m), c.block_m * c.cluster_m) *
                        ceil_div(static_cast<double>(p.n), c.block_n * c.cluster_n);
  const double tiles = groups * c.cluster();
  const double sms = std::max(device.sm_count / c.cluster(), 1) * c.cluster();
  const double full = std::floor(tiles / (sms * resident));
  return {.sms = std::min(sms, tiles),
          .busiest = full * resident + ceil_div(tiles - full * sms * resident, sms),
          .concurrent = std::min<double>(resident, ceil_div(tiles, sms))};
}

/// Cycles of the tensor cores for a k-tile. An instruction reads both operands from shared memory, which binds where it
/// is narrow: below n = 64 rates fall as measured.
double tensor_cycles(const WgmmaConfig& c, const GemmTraits& t) {
  const double instructions = (c.block_m / kWgmmaM) * (c.block_n / c.consumer_n()) * c.b_tile(t).k_steps();
  const double n = c.consumer_n();
  const double read = (kWgmmaM + n) * kWgmmaKBytes;
  return instructions * std::max(n / 2 / kSustained, read / kSharedBytes);
}

double shared_cycles(const WgmmaConfig& c, const GemmTraits& t) {
  const double m_blocks = c.block_m / kWgmmaM, n_pieces = c.block_n / c.consumer_n();
  const double read = (n_pieces * c.block_m + m_blocks * c.block_n) * c.block_k * size_bytes(t.element);
  return (read + kWriteShare * c.stage_bytes(t)) / kSharedBytes;
}

/// Of the copy engine, for a k-tile of an operand that as many blocks share. Rows of the matrix are taken to follow
/// each other as closely as tensor maps allow.
double engine_cycles(const WgmmaTile& tile, std::int64_t extent, std::int64_t k, int sharers) {
  const int width = tile.swizzle_bytes;
  const std::int64_t pitch = ((tile.k_major ? k : extent) + 7) / 8 * 16;
  const auto grain = static_cast<double>(std::gcd<std::int64_t>(pitch, width));  // rows begin at any multiple of it
  const double lines = (width - grain) / kLineBytes, sectors = std::max(0.0, 1 - grain / kSectorBytes);
  const double row = std::max(kRowCycles, width / kCopyBytes) + lines * kLineCycles + sectors * kSectorCycles;
  const double rows = tile.k_major ? std::min<double>(tile.outer, static_cast<double>(extent)) : tile.block_k;
  return rows * tile.slabs() * row * (1 - kClusterSaves * (1 - 1.0 / sharers));
}

/// Of the copy engine and of L2, which is not asked for what lies beyond the matrices.
double copy_cycles(const WgmmaConfig& c, const GemmTraits& t, const Workload& p, double sms) {
  const double m = std::min<double>(c.block_m, static_cast<double>(p.m));
  const double n = std::min<double>(c.block_n, static_cast<double>(p.n));
  const double saved = m * (1 - 1.0 / c.cluster_n) + n * (1 - 1.0 / c.cluster_m);
  const double asked = (m + n - kClusterSaves * saved) * c.block_k * 2;
  const double engine =
      engine_cycles(c.a_tile(t), p.m, p.k, c.cluster_n) + engine_cycles(c.b_tile(t), p.n, p.k, c.cluster_m);
  return std::max(engine, asked / (kL2TotalBytes / sms));
}

/// Cycles that an SM needs for a k-tile of one of its tiles, others running beside it.
double k_tile_cycles(const WgmmaConfig& c, const GemmTraits& t, const Workload& p, const Waves& waves, double k_tiles) {
  const double tensor = tensor_cycles(c, t), shared = shared_cycles(c, t), copy = copy_cycles(c, t, p, waves.sms);
  // The first copies come together after one latency, the others in turns of as many as are on their way at once.
  const double turns = 1 + std::max(k_tiles - c.stages, 0.0) / (c.stages - kHeldStages);
  const double latency = (kLatencyCycles + copy) * turns / (std::max(k_tiles, 1.0) * waves.concurrent);
  const double issue = c.one_tile ? kOneTileCycles / waves.concurrent : 0;
  const double bound = std::max({tensor, shared, copy, latency, issue});
  const double waits = kWaitCycles / (c.readers() * waves.concurrent);
  return (bound + kUnboundShare * (tensor + shared + copy)) * (c.cluster() > 1 ? 1 + kClusterShare : 1) + waits;
}

/// From a tile's last product to its last store, by `warpgroups` together.
double epilogue_cycles(const WgmmaConfig& c, const GemmTraits& t, double warpgroups) {
  const double bytes = static_cast<double>(c.block_m) * c.block_n * 2 * (t.reads_c ? 2 : 1);
  return bytes / (kStoreBytes * std::min(1.0, warpgroups / 2)) + kEpilogueCycles;
}

}  // namespace

double wgmma_compute_us(const WgmmaConfig& c, const Workload& problem, const DeviceInfo& device, int resident) {
  const GemmTraits traits = traits_of(problem);
  const Waves waves = waves_of(c, problem, device, resident);
  const double k_tiles = ceil_div(static_cast<double>(problem.k), c.block_k);
  const double products = k_tiles * k_tile_cycles(c, traits, problem, waves, k_tiles);
  const double start = (c.one_tile ? kBlockCycles : kPersistentCycles) + (c.cluster() > 1 ? kClusterCycles : 0);
  double cycles = 0;
  const double epilogue = epilogue_cycles(c, traits, c.readers()) / waves.concurrent;
  if (c.ping_pong) {
    // Products of one consumer run while the other stores; the last tile's store has nothing to hide behind.
    cycles = start + waves.busiest * std::max(products, (products + epilogue) / 2) + epilogue;
  } else {
    const double blocks = c.one_tile ? waves.busiest / waves.concurrent : 1;  // one after another
    const double gap = kTileCycles / waves.concurrent;
    cycles = blocks * start + (blocks - 1) * kTurnoverCycles + waves.busiest * (products + epilogue + gap) - gap;
  }
  return cycles / device.clock_mhz;
}

}  // namespace hotgemm
