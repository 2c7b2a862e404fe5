#include "plan/wgmma_model.hpp"

#include "plan/traits.hpp"

#include <algorithm>
#include <cmath>

namespace hotgemm {
namespace {

// Of an H200. Rates are per SM and clock where nothing else is said; where the figures come from stands in
// docs/kernels/wgmma.md.
constexpr double kSustained = 0.85;  // of the tensor cores' nominal rate: what power leaves on random data
constexpr double kSharedBytes = 128;
constexpr double kWriteShare = 0.5;         // a byte that a copy writes to shared memory costs this much of one read
constexpr double kL2Bytes = 64;             // for one SM
constexpr double kL2TotalBytes = 6154;      // for all
constexpr double kBoxRowCycles = 1;         // the copy engine's pace: a row of a box, however short
constexpr double kLatencyCycles = 1000;     // from a copy's issue to its data, out of DRAM
constexpr double kWaitCycles = 20;          // a k-tile's waits and fences, where no other warpgroup multiplies
constexpr double kUnboundShare = 0.05;      // of what does not bind: contention and power
constexpr double kBlockCycles = 1080;       // a block's first products wait for its first copies (0.59 us)
constexpr double kPersistentCycles = 2500;  // the same where a producer starts first (1.38 us)
constexpr double kTurnoverCycles = 3000;    // between a block's end and the next one's start on its SM
constexpr double kTileCycles = 1000;        // until all consumers are done with one tile and into the next
constexpr double kClusterSaves = 0.5;       // of the bytes shared: L2 answers neighbours together without a cluster too
constexpr double kClusterCycles = 600;      // blocks that start together wait for each other
constexpr double kClusterShare = 0.02;      // and so do their pipelines
constexpr double kStoreBytes = 24;          // of D and C, by two warpgroups
constexpr double kEpilogueCycles = 400;     // until the first store

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// How the tiles fall on the SMs. A cluster's tiles are taken together, those beyond D's edge included.
struct Waves {
  double sms;         ///< that have work
  double busiest;     ///< tiles that the busiest of them has
  double concurrent;  ///< of which so many at once
};

Waves waves_of(const WgmmaConfig& c, const Problem& p, const DeviceInfo& device, int resident) {
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
double tensor_cycles(const WgmmaConfig& c) {
  const double instructions = (c.block_m / kWgmmaM) * (c.block_n / c.consumer_n()) * (c.block_k / kWgmmaK);
  const double n = c.consumer_n();
  const double read = (kWgmmaM + n) * kWgmmaK * 2;
  return instructions * std::max(n / 2 / kSustained, read / kSharedBytes);
}

double shared_cycles(const WgmmaConfig& c) {
  const double m_blocks = c.block_m / kWgmmaM, n_pieces = c.block_n / c.consumer_n();
  const double read = (n_pieces * c.block_m + m_blocks * c.block_n) * c.block_k * 2;
  return (read + kWriteShare * c.stage_bytes()) / kSharedBytes;
}

/// Of L2, which is not asked for what lies beyond the matrices, and of the copy engine, for which the short rows of a
/// narrow swizzle are many.
double copy_cycles(const WgmmaConfig& c, const GemmTraits& t, const Problem& p, double sms) {
  const double m = std::min<double>(c.block_m, static_cast<double>(p.m));
  const double n = std::min<double>(c.block_n, static_cast<double>(p.n));
  const double saved = m * (1 - 1.0 / c.cluster_n) + n * (1 - 1.0 / c.cluster_m);
  const double asked = (m + n - kClusterSaves * saved) * c.block_k * 2;
  const WgmmaTile a = c.a_tile(t), b = c.b_tile(t);
  const double rows = a.rows() * a.slabs() + b.rows() * b.slabs();
  return std::max(asked / std::min(kL2Bytes, kL2TotalBytes / sms), rows * kBoxRowCycles);
}

/// Cycles that an SM needs for a k-tile of one of its tiles, others running beside it.
double k_tile_cycles(const WgmmaConfig& c, const GemmTraits& t, const Problem& p, const Waves& waves, double k_tiles) {
  const double tensor = tensor_cycles(c), shared = shared_cycles(c), copy = copy_cycles(c, t, p, waves.sms);
  const double in_flight = std::clamp<double>(k_tiles, 1, c.stages) * waves.concurrent;
  const double bound = std::max({tensor, shared, copy, kLatencyCycles / in_flight});
  const double waits = kWaitCycles / (c.readers() * waves.concurrent);
  return (bound + kUnboundShare * (tensor + shared + copy)) * (c.cluster() > 1 ? 1 + kClusterShare : 1) + waits;
}

/// From a tile's last product to its last store, by `warpgroups` together.
double epilogue_cycles(const WgmmaConfig& c, const GemmTraits& t, double warpgroups) {
  const double bytes = static_cast<double>(c.block_m) * c.block_n * 2 * (t.reads_c ? 2 : 1);
  return bytes / (kStoreBytes * std::min(1.0, warpgroups / 2)) + kEpilogueCycles;
}

}  // namespace

double wgmma_compute_us(const WgmmaConfig& c, const Problem& problem, const DeviceInfo& device, int resident) {
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
