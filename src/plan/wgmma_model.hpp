#pragma once

#include "config/device_info.hpp"
#include "config/traits.hpp"
#include "shared/wgmma_config.hpp"

#include <hotgemm/types.hpp>

#include <iterator>
#include <vector>

namespace hotgemm {

/// The constants of the model, fitted to an H200 and judged on an H100 too. tools/fit-model fits them to traces. Rates
/// are per SM and clock unless the comment says otherwise. docs/kernels/wgmma.md tells where the figures come from.
struct WgmmaModel {
  double sustained = 0.85;  ///< share of the nominal tensor-core rate that the power limit leaves on random data
  double promoted = 0.97;   ///< the same where products wait for promotions
  double shared_bytes = 128;
  double write_share = 0.41;       ///< cost of a byte that a copy writes to shared memory, relative to a byte read
  double row_cycles = 1.7;         ///< time of the copy engine for a row of a box
  double line_cycles = 0.55;       ///< extra time for a row that crosses into another line
  double sector_cycles = 2.9;      ///< extra time for a row that begins inside a sector
  double l2_total_bytes = 9400;    ///< for all SMs together: L2 merges requests of neighbours for the same data
  double narrow_bytes = 7050;      ///< for all SMs together, of boxes of an operand along m or n in rows of 32 bytes
  double narrow_growth = 0.62;     ///< the power of the bytes of a row with which that grows, up to a line
  double narrow_four = 0.15;       ///< cost of such a box for each of four blocks that share it; two save nothing
  double latency_cycles = 1530;    ///< from the issue of a copy to its data, from DRAM
  double held_stages = 0.98;       ///< stages that are being read, so that no copy into them is in flight
  double wait_cycles = 11;         ///< waits and fences of a k-tile, if no other warpgroup multiplies meanwhile
  double loaded_step_cycles = 58;  ///< for a k-step whose rows lanes load, if no other warpgroup multiplies meanwhile
  double one_tile_cycles = 390;    ///< least time for a k-tile whose copies the multiplying warps issue: this, and
  double one_tile_slab_cycles = 120;   ///< this for each 128 bytes of k, which take a copy of each operand
  double odd_loads = 5.7;              ///< cycles of the load-store units for 128 bytes of odd rows that threads move
  double even_loads = 3.9;             ///< the same for rows at multiples of 4 bytes
  double thread_cycles = 780;          ///< from the loads of a k-tile by threads to its stores
  double unbound_share = 0.043;        ///< share of all units' time added to the slowest unit's: contention, power
  double block_cycles = 190;           ///< start of a block, in addition to its first copies
  double producer_cycles = 140;        ///< the same, in addition, if another warp copies than those that multiply
  double loader_cycles = 500;          ///< the same for a block whose threads load
  double turnover_cycles = 1500;       ///< from the end of a block to the start of the next one on its SM
  double tile_cycles = 260;            ///< from one tile to the next, until all consumers have changed over
  double row_saves = 0.91;             ///< share of a row copied for a neighbour too that the copy engine saves
  double edge_saves = 1;               ///< the same of the extra time for rows that cross lines or begin inside sectors
  double cluster_saves = 0.65;         ///< share of the bytes copied for a neighbour too that L2 saves
  double cluster_cycles = 1000;        ///< blocks of a cluster wait for each other at their start
  double cluster_k_cycles = 15;        ///< for a k-tile: the blocks of a cluster tell each other that a stage is free
  double cluster_share = 0.01;         ///< share of its time that a k-tile takes longer in a cluster of two blocks
  double large_cluster_share = 0.023;  ///< the same in a larger cluster
  double store_bytes = 30;             ///< rate of storing D and loading C, by two warpgroups
  double lone_store = 0.43;            ///< the rate of one warpgroup, as a share of that
  double narrow_store_bytes = 24;  ///< the same, if rows of D are not at multiples of 16 bytes, so that threads store
  double crossing_store = 0.5;     ///< extra cost of storing a row that crosses into another line, in rows that do not
  double strip_ends = 2.1;         ///< cost for DRAM of both ends of a row that is stored in one go, in 128 bytes
  double epilogue_cycles = 80;     ///< from the last product to the first store
  double exchange_cycles = 400;    ///< the same, in addition, if the warps of a consumer exchange elements
  double exchanged_sums = 60;      ///< rate at which lanes of two warpgroups exchange sums, if they load rows of bytes
  double matrix_cycles = 150;      ///< from the copies of a piece of another matrix than D to its use
  double lone_matrix_cycles = 1500;  ///< the same without a buffer to which the next piece is copied meanwhile
  double fused_slots = 120;          ///< instructions of an epilogue in a clock, of all lanes of two warpgroups
  double lone_slots = 1;             ///< their share for one warpgroup, whose warps are alone on their schedulers
  double transposed_slots = 0.77;    ///< their share for a transposed config, which computes more places

  // The sum of the parts of a divided k (templates/wgmma_split.cuh).
  double slot_bytes = 20;        ///< rate of writing a slot, and of reading as much
  double arrive_cycles = 2660;   ///< from the last store of a slot to the first load of another block
  double repeated_bytes = 9000;  ///< rate of reading operands again, for all SMs together
  double merged_bytes = 29000;   ///< the same without clusters, where neighbouring blocks read the same rows at once
  double beyond_bytes = 460;     ///< the same for boxes beyond an edge of an operand that lies along m or n
  double unmerged_bytes = 3900;  ///< rate of L2 for all SMs together, if it merges no requests of neighbours
  double crossing_cost = 5;      ///< extra cost of a row that crosses into another line, if L2 merges nothing, in rows
  double unmerged_share = 0.2;   ///< share of its excess over the expected time that is lost in the mean
};

/// A constant by its name. To add one, add a member to WgmmaModel and a row here.
struct WgmmaConstant {
  const char* name;
  double WgmmaModel::*member;
};
inline constexpr WgmmaConstant kWgmmaConstants[] = {
    {"sustained", &WgmmaModel::sustained},
    {"promoted", &WgmmaModel::promoted},
    {"shared_bytes", &WgmmaModel::shared_bytes},
    {"write_share", &WgmmaModel::write_share},
    {"row_cycles", &WgmmaModel::row_cycles},
    {"line_cycles", &WgmmaModel::line_cycles},
    {"sector_cycles", &WgmmaModel::sector_cycles},
    {"l2_total_bytes", &WgmmaModel::l2_total_bytes},
    {"narrow_bytes", &WgmmaModel::narrow_bytes},
    {"narrow_growth", &WgmmaModel::narrow_growth},
    {"narrow_four", &WgmmaModel::narrow_four},
    {"latency_cycles", &WgmmaModel::latency_cycles},
    {"held_stages", &WgmmaModel::held_stages},
    {"wait_cycles", &WgmmaModel::wait_cycles},
    {"loaded_step_cycles", &WgmmaModel::loaded_step_cycles},
    {"one_tile_cycles", &WgmmaModel::one_tile_cycles},
    {"one_tile_slab_cycles", &WgmmaModel::one_tile_slab_cycles},
    {"odd_loads", &WgmmaModel::odd_loads},
    {"even_loads", &WgmmaModel::even_loads},
    {"thread_cycles", &WgmmaModel::thread_cycles},
    {"unbound_share", &WgmmaModel::unbound_share},
    {"block_cycles", &WgmmaModel::block_cycles},
    {"producer_cycles", &WgmmaModel::producer_cycles},
    {"loader_cycles", &WgmmaModel::loader_cycles},
    {"turnover_cycles", &WgmmaModel::turnover_cycles},
    {"tile_cycles", &WgmmaModel::tile_cycles},
    {"row_saves", &WgmmaModel::row_saves},
    {"edge_saves", &WgmmaModel::edge_saves},
    {"cluster_saves", &WgmmaModel::cluster_saves},
    {"cluster_cycles", &WgmmaModel::cluster_cycles},
    {"cluster_k_cycles", &WgmmaModel::cluster_k_cycles},
    {"cluster_share", &WgmmaModel::cluster_share},
    {"large_cluster_share", &WgmmaModel::large_cluster_share},
    {"store_bytes", &WgmmaModel::store_bytes},
    {"lone_store", &WgmmaModel::lone_store},
    {"narrow_store_bytes", &WgmmaModel::narrow_store_bytes},
    {"crossing_store", &WgmmaModel::crossing_store},
    {"strip_ends", &WgmmaModel::strip_ends},
    {"epilogue_cycles", &WgmmaModel::epilogue_cycles},
    {"exchange_cycles", &WgmmaModel::exchange_cycles},
    {"exchanged_sums", &WgmmaModel::exchanged_sums},
    {"matrix_cycles", &WgmmaModel::matrix_cycles},
    {"lone_matrix_cycles", &WgmmaModel::lone_matrix_cycles},
    {"fused_slots", &WgmmaModel::fused_slots},
    {"lone_slots", &WgmmaModel::lone_slots},
    {"transposed_slots", &WgmmaModel::transposed_slots},
    {"slot_bytes", &WgmmaModel::slot_bytes},
    {"arrive_cycles", &WgmmaModel::arrive_cycles},
    {"repeated_bytes", &WgmmaModel::repeated_bytes},
    {"merged_bytes", &WgmmaModel::merged_bytes},
    {"beyond_bytes", &WgmmaModel::beyond_bytes},
    {"unmerged_bytes", &WgmmaModel::unmerged_bytes},
    {"crossing_cost", &WgmmaModel::crossing_cost},
    {"unmerged_share", &WgmmaModel::unmerged_share},
};
static_assert(std::size(kWgmmaConstants) * sizeof(double) == sizeof(WgmmaModel), "each member has a row");

/// A problem as a kernel sees it, and the traits of the kernel for its bare product. It may read copies of operands
/// (config/repack.hpp), whose rows are as far apart as `repacked_pitch` says.
struct SeenWorkload : Workload {
  bool copied_a = false;
  bool copied_b = false;
  GemmTraits traits;

  SeenWorkload(const Workload& problem, bool a = false, bool b = false)
      : Workload(problem), copied_a(a), copied_b(b), traits(traits_of(problem)) {}
};

/// The predicted microseconds that the SMs need for `problem`, from the start of the first block to the last store. The
/// model adds the launch and the DRAM limit, as for every family (model.hpp). `resident` is the number of blocks that
/// an SM holds at once, `splits` the number of parts of k; their sum is not included. `problem` has no epilogue; its
/// stores take as long as those with `epilogue`.
double wgmma_compute_us(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                        int splits = 1, const WgmmaModel& model = {}, const Epilogue& epilogue = {});

/// The predicted microseconds in which the slowest block adds the parts of sums and does `epilogue`, over all tiles
/// that it runs in turn. 0 for a config whose blocks do not divide k.
double wgmma_reduce_us(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                       int splits, const WgmmaModel& model = {}, const Epilogue& epilogue = {});

/// The predicted microseconds that DRAM loses while tiles read operands that other tiles have read, too; the blocks of
/// a cluster read them once, and neighbouring blocks without clusters at the same time. 0 for a config whose blocks do
/// not divide k.
double wgmma_repeated_us(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device,
                         const WgmmaModel& model = {});

/// The predicted microseconds for boxes beyond the edges of operands that L2 does not hold. They hold nothing, but take
/// long where an operand lies along m or n. 0 for a config whose blocks do not divide k.
double wgmma_beyond_us(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device,
                       const WgmmaModel& model = {});

/// The predicted microseconds that are lost because all blocks read the same few lines: those of an operand that lies
/// along m or n in rows shorter than a line. A box costs by its width, also where it lies beyond the operand
/// (docs/notebook/search.md, 31). 0 for batches, whose products have lines of their own, and for operands that threads
/// load.
double wgmma_narrow_us(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device,
                       const WgmmaModel& model = {});

/// The microseconds of L2 if it merges no requests of different clusters. It merges them while blocks read one part
/// of an operand at once; blocks drift apart, and an operand that L2 does not hold is gone when the last of them comes.
/// The config does not tell whether they drift. 0 for a config whose blocks do not divide k or have no clusters, and
/// for operands that L2 holds.
double wgmma_unmerged_us(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device,
                         const WgmmaModel& model = {});

/// The numbers of parts to try for a config whose blocks divide k: the most for which all blocks run at once and have
/// products, then fewer in growing steps. {1} for another config.
std::vector<int> wgmma_splits(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device);
/// The one of them with the shortest prediction.
int wgmma_best_splits(const WgmmaConfig& config, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                      const WgmmaModel& model = {});

}  // namespace hotgemm
