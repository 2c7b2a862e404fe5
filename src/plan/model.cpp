#include "plan/model.hpp"

#include "config/arch_rates.hpp"
#include "config/class_key.hpp"
#include "config/group_sizes.hpp"
#include "config/launch_shape.hpp"
#include "config/live_registers.hpp"
#include "config/repack.hpp"
#include "config/sm_limit.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "plan/epilogue_work.hpp"
#include "plan/wgmma_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace hotgemm {
namespace {

constexpr double kSharedBytes = 128;  // per SM and clock
constexpr double kSimtShare = 0.5;    // share of the issue slots for products; the others are for shared loads
constexpr double kFmaShare = 0.95;
// Cycles in which an SM executes cp.async for a warp in family fma. On an H200, f32 in layout nt with words copied one
// by one takes 9 with 1 to 64 rows (docs/notebook/deepk.md, 12).
constexpr double kAsyncCopyCycles = 9;
constexpr double kLaunchUs = 2.0;
constexpr double kBlockCycles = 1700;    // start of a block: first tiles from DRAM
constexpr double kIterationCycles = 70;  // barrier of a k-tile, once per resident block
constexpr double kStoreBytes = 24;       // stores of D, per SM and clock
constexpr double kRepackUs = 2.0;        // start and end of the kernel that repacks operands
constexpr double kRepackShare = 0.8;     // of DRAM's rate, for what it reads and writes
// The same if it transposes: the share is of what it writes. On an H200 tn takes longer than nn by 5 µs for 4 MB, 12
// for 16 MB and 39 for 64 MB of bytes (docs/notebook/types.md, 11).
constexpr double kTransposeUs = 4.0;
constexpr double kTransposeShare = 0.42;
// Start and end if it transposes rows of 16-bit elements, which are short: ten problems (docs/notebook/search.md, 29).
constexpr double kNarrowUs = 2.7;

/// CUDA cores of an SM, which is also the number of f32 products per clock.
double cores(const ArchRates& rates) { return rates.cuda_f32_flops / 2; }

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// Cycles that an SM needs for one k-tile of one block if only throughput limits it. Each family has its own overload.
template <class Config>
double tile_cycles(const Config&, const GemmTraits&, const ArchRates&) {
  static_assert(!std::is_same_v<Config, Config>,
                "this config's family has no model: add its tile_cycles, or its compute_us, to src/plan/model.cpp");
  return 0;
}

/// Cycles to copy `elements` of an operand in accesses of `vec` elements, if these are narrow. Single elements pass
/// through registers.
double narrow_cycles(int elements, int vec) {
  constexpr double kAccesses = 16;  // for which an SM has issue slots in a cycle
  constexpr double kSingle = 0.35;  // 4096×4096×4095 takes 1783 µs on an H200, 2048×512×13 6 µs
  if (vec >= 8) return 0;
  return vec == 1 ? elements * kSingle : elements / (vec * kAccesses);
}

/// Operations per SM and clock of mma.sync. Half as many bytes are twice as fast, but mma.sync of FP8 on Hopper and on
/// large Blackwell GPUs consists of instructions for f16.
double mma_flops(const GemmTraits& t, const ArchRates& rates) {
  const bool is_fast = t.accumulator == DType::f16 || t.accumulator == DType::s32;
  const double of_16_bits = is_fast ? rates.tensor_f16_flops : rates.tensor_f32_flops;
  const bool is_unpacked = is_fp8(t.element) && unpacks_fp8(*find_arch_limits(rates.sm));
  return is_unpacked ? of_16_bits : of_16_bits * 2 / size_bytes(t.element);
}

double tile_cycles(const MmaConfig& c, const GemmTraits& t, const ArchRates& rates) {
  const double flops = 2.0 * c.block_m * c.block_n * c.block_k;
  const double bytes = size_bytes(t.element);
  const double copied = (c.block_m + c.block_n) * c.block_k * bytes;
  const double read = c.warps_m * c.warps_n * (c.warp_m() + c.warp_n()) * c.block_k * bytes;
  const double mma = flops / (mma_flops(t, rates) * rates.mma_share);
  // narrow_cycles counts elements of 16 bits, so widths and k-tiles are converted to those.
  const double narrow = (narrow_cycles(c.block_m, static_cast<int>(t.vec_a * bytes / 2)) +
                         narrow_cycles(c.block_n, static_cast<int>(t.vec_b * bytes / 2))) *
                        c.block_k * bytes / 2;
  // Warps with few instructions per load cannot keep the tensor cores busy.
  const double balance = std::max(mma, (copied + read) / kSharedBytes);
  const double deep = c.stages >= 3 ? 1.0 : 1.12;
  const double overlap = c.fragment_buffers == 2 ? 1.0 : 1.06;
  return std::max({balance * deep * overlap, copied / rates.l2_bytes, narrow});
}

/// The estimate of family mma, because the compiler turns wmma into the same instructions and loads. `opaque` is a
/// guess for two more costs: copies of padded rows conflict in banks, and each fragment needs its own address.
double tile_cycles(const WmmaConfig& c, const GemmTraits& t, const ArchRates& rates) {
  const MmaConfig alike{.block_m = c.block_m,
                        .block_n = c.block_n,
                        .block_k = c.block_k,
                        .warps_m = c.warps_m,
                        .warps_n = c.warps_n,
                        .stages = c.stages,
                        .fragment_buffers = c.buffers_fragments(t) ? 2 : 1};
  const double unhidden = c.stages == 1 ? 2.0 : 1.0;  // copies and products alternate
  const double conflicts = c.padded ? 1.0 : 2.0;
  const double opaque = 1.2;
  return tile_cycles(alike, t, rates) * unhidden * conflicts * opaque;
}

double tile_cycles(const SimtConfig& c, const GemmTraits& t, const ArchRates& rates) {
  const double flops = 2.0 * c.block_m * c.block_n * c.block_k;
  const double reuse = 1.0 / c.thread_m + 1.0 / c.thread_n;  // shared loads per fma
  const double copied =
      c.block_k * static_cast<double>(c.block_m * size_bytes(t.element) + c.block_n * size_bytes(t.element_b));
  return std::max(flops / (2 * cores(rates) * kSimtShare) * (1 + reuse), copied / rates.l2_bytes);
}

/// Loads from shared memory and products of a thread share the issue slots. Loads of single elements, and f16 that is
/// widened, take more slots.
double tile_cycles(const FmaConfig& c, const GemmTraits& t, const ArchRates& rates) {
  const int bytes = size_bytes(FmaConfig::factor_type(t.element));
  const int factors = c.steps(t.element) * c.step_factors();  // along k; words, if these hold four s8
  const double products = static_cast<double>(c.block_m) * c.block_n * factors;
  const bool pairs = c.packed && t.accumulator == DType::f16;
  const double elements = 1.0 / c.thread_m + 1.0 / c.thread_n;  // loaded elements of a fragment per product
  const double loads = c.packed || c.quads ? elements * bytes / 16 : elements;
  const double widened = bytes == 2 && !pairs ? elements : 0;
  const double copied = (c.block_m + c.block_n) * factors * static_cast<double>(bytes);
  const auto accesses = [](const FmaTile& tile) {
    return static_cast<double>(tile.outer) * tile.block_k / tile.access;
  };
  const double of_a = accesses(c.a_tile(t)), of_b = accesses(c.b_tile(t));
  const double copies = (of_a + of_b) * (c.async_copy && c.access > 1 ? 0.6 : 1.0);
  const double async = (c.copies_async(t.a_is_k_major(), t.element) ? of_a : 0) +
                       (c.copies_async(t.b_is_k_major(), t.element) ? of_b : 0);
  const double copying = async / 32 * kAsyncCopyCycles;
  const double single = c.stages < 2 ? 1.35 : 1.0;  // nothing hides the copies
  const double issue = products * ((pairs ? 0.5 : 1.0) + loads + widened) + copies;
  // A 16-byte load of shared memory takes half the time, because lanes read the same addresses.
  const double shared = products * elements * bytes / kSharedBytes / (c.packed ? 2 : 1);
  const double memory = c.stages == 0 ? products * elements * bytes / rates.l2_bytes : copied / rates.l2_bytes;
  const double integers = t.element == DType::s8 ? products * 8 / rates.cuda_s8_flops : 0;
  return std::max({std::max(issue / (cores(rates) * kFmaShare), integers) * single, shared, memory, copying});
}

/// Factor for the parallelism that hides latency: an SM with fewer than eight warps is slower.
double latency_penalty(double warps) { return warps >= 8 ? 1.0 : 1.0 + 0.06 * (8 - warps); }

/// The blocks of the SM that has most of them, and how many of these run at once.
struct SmBlocks {
  double all;
  double concurrent;
};
/// A block for each of `tiles`, on all SMs. A wave is the set of blocks that run at once. Blocks on one SM share its
/// units, so an SM with b blocks takes b times as long.
SmBlocks spread(double tiles, const DeviceInfo& device, int resident) {
  const double sms = device.sm_count;
  const double full_waves = std::floor(tiles / (sms * resident));
  const double rest = tiles - full_waves * sms * resident;
  return {.all = full_waves * resident + ceil_div(rest, sms),
          .concurrent = std::min<double>(resident, ceil_div(tiles, sms))};
}

/// Microseconds that the SMs need, from the start of the first block to the last store.
template <class Config>
double compute_us(const Config& c, const SeenWorkload& problem, const DeviceInfo& device, int resident, int /*splits*/,
                  const WgmmaModel&, const Epilogue& /*epilogue*/) {
  const GemmTraits& traits = problem.traits;
  const ArchRates& rates = arch_rates(device.arch);
  const double tiles = ceil_div(static_cast<double>(problem.m), c.block_m) *
                       ceil_div(static_cast<double>(problem.n), c.block_n) * static_cast<double>(problem.batch);
  const auto [busiest, concurrent] = spread(tiles, device, resident);
  const double k_tiles = ceil_div(static_cast<double>(problem.k), c.block_k);
  const double penalty = latency_penalty(concurrent * c.threads() / kWarpSize);
  const double store =
      c.block_m * c.block_n * size_bytes(problem.types.d) / kStoreBytes * (problem.hints.beta_is_zero ? 1 : 2);
  const double block_cycles = k_tiles * (tile_cycles(c, traits, rates) * penalty + kIterationCycles / concurrent) +
                              (kBlockCycles + store) / concurrent;
  return busiest * block_cycles / device.clock_mhz;
}

double compute_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device, int resident, int splits,
                  const WgmmaModel& model, const Epilogue& epilogue) {
  return wgmma_compute_us(c, problem, device, resident, splits, model, epilogue);
}

/// Microseconds after the last product and the last byte from DRAM, in which blocks add parts of sums and do the
/// epilogue.
template <class Config>
double reduce_us(const Config&, const SeenWorkload&, const DeviceInfo&, int, int, const WgmmaModel&, const Epilogue&) {
  return 0;
}
double reduce_us(const WgmmaConfig& c, const SeenWorkload& problem, const DeviceInfo& device, int resident, int splits,
                 const WgmmaModel& model, const Epilogue& epilogue) {
  return wgmma_reduce_us(c, problem, device, resident, splits, model, epilogue);
}

int best_splits(const KernelConfig& config, const SeenWorkload& problem, const DeviceInfo& device, int resident,
                const WgmmaModel& model = {}) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  return wgmma != nullptr ? wgmma_best_splits(*wgmma, problem, device, resident, model) : 1;
}

/// Microseconds of the kernel that repacks operands. Copies that L2 keeps are not written to DRAM.
double repack_us(const LaunchConfig& launch, const Workload& problem, const DeviceInfo& device) {
  if (!repacks(launch)) return 0;
  const auto written = static_cast<double>(repacked_bytes(launch, problem));
  const bool transposes = launch.repack_a == Repack::transposed || launch.repack_b == Repack::transposed;
  const bool is_narrow = transposes && size_bytes(problem.types.a) == 2;
  if (transposes && !is_narrow) return kTransposeUs + written / (device.dram_gbps * 1e3 * kTransposeShare);
  const double moved = 2 * written < static_cast<double>(device.l2_bytes) ? written : 2 * written;
  return (is_narrow ? kNarrowUs : kRepackUs) + moved / (device.dram_gbps * 1e3 * kRepackShare);
}

/// The share of the shorter time that the longer one does not hide. The two are the time of the SMs and that of DRAM.
double unhidden_share(const KernelConfig& config, const SeenWorkload& problem, const DeviceInfo& device, int resident) {
  constexpr double kLeast = 0.1;
  if (std::holds_alternative<WgmmaConfig>(config)) return kLeast;  // as fitted: most blocks stay, and load ahead
  // Blocks that start together load together, and store together: 65536×64×64 takes 9.4 µs on an H200.
  const LaunchShape shape = launch_shape(config, problem.traits);
  const double tiles = ceil_div(static_cast<double>(problem.m), shape.tile_m) *
                       ceil_div(static_cast<double>(problem.n), shape.tile_n) * static_cast<double>(problem.batch);
  const SmBlocks blocks = spread(tiles, device, resident);
  return std::max(kLeast, blocks.concurrent / std::max(blocks.all, 1.0));
}

/// The registers of a thread: the live values, and a constant for addresses and loop state.
template <class Config>
int estimated_registers(const Config& c, const GemmTraits& traits, const ArchLimits& arch) {
  constexpr int kOthers = 40;
  if constexpr (requires { Config::kEstimatedRegisters; }) return Config::kEstimatedRegisters;
  const auto live = live_registers(c, traits, arch);
  return live ? std::min(live->all() + kOthers, live->budget) : kOthers;
}

/// The share of the streaming rate at which a kernel reads. Threads that load for `wgmma` have less under way than
/// tensor copies: 18×16832×7168 tt at an alignment of 4 bytes takes 88 µs, where repacking takes 63 (H200).
double read_share(const KernelConfig& config) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  return wgmma != nullptr && wgmma->loaders > 0 ? 0.8 : 1;
}

/// The bare product of `problem`, as the kernel of `launch` sees it. Groups are a batch. Operands that the caller
/// packed do not count as copies, because such a problem has the answers of its class.
SeenWorkload seen_by(const Workload& problem, const LaunchConfig& launch) {
  return {without_epilogue(with_uniform_groups(repacked(problem, launch))), launch.repack_a != Repack::none,
          launch.repack_b != Repack::none};
}

/// Bytes that stand for what DRAM loses where rows of D begin at no multiple of 16 bytes: sectors at both ends of what
/// is stored of a row in one go are incomplete. `wgmma` stores strips. Other stores, which were not measured, are taken
/// to be of 128 bytes. `traits` are those with the epilogue.
double incomplete_bytes(const KernelConfig& config, const SeenWorkload& problem, const GemmTraits& traits,
                        const WgmmaModel& model) {
  if (WgmmaConfig::has_aligned_d(traits)) return 0;
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  const double columns = static_cast<double>(traits.epilogue.columns_of_d(problem.n));
  double strips = columns * size_bytes(traits.element_d) / WgmmaConfig::kStoreRowBytes;
  if (wgmma != nullptr && !wgmma->split_k && !wgmma->stores_directly(traits)) {
    strips = columns / wgmma->stored_n(traits) * div_up(wgmma->row_pieces(traits), wgmma->strip_pieces(traits));
  }
  return static_cast<double>(problem.m) * static_cast<double>(problem.batch) * strips * model.strip_ends *
         WgmmaConfig::kStoreRowBytes;
}

/// Bytes of A, of B and of `like_d` matrices of D's size, of all products.
double matrix_bytes(const Problem& p, std::int64_t columns_of_d, double like_d) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  return static_cast<double>(p.batch) * (m * k * size_bytes(p.types.a) + k * n * size_bytes(p.types.b) +
                                         m * static_cast<double>(columns_of_d) * size_bytes(p.types.d) * like_d);
}

/// predict_us for a GPU on all of whose SMs the kernel runs, with at most `most_resident` blocks on each. `on_sms` is
/// `asked`, or with another number of groups: memory has the bytes of `asked`, and SMs have the tiles of `on_sms`.
double predict_us(const KernelConfig& config, const Workload& asked, const Workload& on_sms, const DeviceInfo& device,
                  int most_resident, const WgmmaModel& model) {
  // The model is of the bare product, and adds the work of the epilogue; a batch in place of groups may have no kernels
  // with their epilogue.
  const LaunchConfig copies = with_repacks({}, config, asked);
  const SeenWorkload problem = seen_by(asked, copies), tiles = seen_by(on_sms, copies);
  const GemmTraits fused = traits_of(asked, copies);
  const int resident = std::min(most_resident, resident_blocks(config, fused, arch_limits(device.arch)));
  const int splits = best_splits(config, tiles, device, resident, model);
  const auto compute = [&](const auto& c) {
    return compute_us(c, tiles, device, resident, splits, model, asked.epilogue);
  };
  const auto reduce = [&](const auto& c) {
    return reduce_us(c, tiles, device, resident, splits, model, asked.epilogue);
  };
  const double sm_us = std::visit(compute, config), sum_us = std::visit(reduce, config);
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  const auto of_wgmma = [&](const auto& us) { return wgmma != nullptr ? us(*wgmma, problem, device, model) : 0; };

  const double matrices =
      (problem.hints.beta_is_zero ? 1 : 2) + epilogue_work(asked.epilogue).matrices;  // of D's sizes
  // Each operand comes from DRAM at least once. With few waves in flight, rows of tiles are read again.
  const double bytes =
      matrix_bytes(problem, columns_of_d(asked), matrices) + incomplete_bytes(config, problem, fused, model);
  const double dram_us = bytes / (device.dram_gbps * 0.85e3 * read_share(config)) + of_wgmma(wgmma_repeated_us);
  const double unhidden_us = unhidden_share(config, tiles, device, resident) * std::min(sm_us, dram_us);
  const double merged_us = std::max(sm_us, dram_us) + unhidden_us + sum_us + kLaunchUs + of_wgmma(wgmma_beyond_us) +
                           of_wgmma(wgmma_narrow_us);
  const double lost_us = std::max(of_wgmma(wgmma_unmerged_us) - merged_us, 0.0);
  return merged_us + model.unmerged_share * lost_us + repack_us(copies, asked, device);
}

/// predict(work) for skewed groups, where `problem` has groups of rows and predict_us computes the tiles of `work`.
/// Skewed groups fill as many tiles as some number of groups of the mean size. The time of a broken number lies between
/// those of its neighbours.
template <class Predict>
double predict_skewed_us(const Workload& problem, int tile_m, const Predict& predict) {
  const std::int64_t rows = with_uniform_groups(problem).m;
  const double tiles_of_group = std::ceil(static_cast<double>(rows) / tile_m);
  const double groups = std::max(tiles_of_skewed_groups(problem, tile_m) / tiles_of_group, 1.0);
  const auto predict_for = [&](double count) {
    Workload work = problem;
    work.groups = static_cast<std::int64_t>(count);
    work.m = work.groups * rows;
    return predict(work);
  };
  const double less = std::floor(groups), us = predict_for(less);
  return groups == less ? us : std::lerp(us, predict_for(less + 1), groups - less);
}

/// default_launch for such a GPU.
LaunchConfig default_launch(const KernelConfig& config, const Workload& problem, const DeviceInfo& device,
                            int most_resident) {
  LaunchConfig launch = with_repacks({}, config, problem);
  const GemmTraits traits = traits_of(problem, launch);
  const LaunchShape shape = launch_shape(config, traits);
  const int resident = std::min(most_resident, resident_blocks(config, traits, arch_limits(device.arch)));
  const double in_flight =
      static_cast<double>(sms_of_clusters(device.sm_count, shape.cluster)) * resident / shape.cluster;
  const double wanted = std::sqrt(in_flight * shape.tile_n / shape.tile_m);
  int width = 1;
  while (width < 16 && width * 1.5 < wanted) width *= 2;
  launch.raster_width = width;
  if (shape.splits_k) launch.splits = best_splits(config, seen_by(problem, launch), device, resident);
  return launch;
}

/// `device` as kernels under the SM limit of `problem` see it.
DeviceInfo limited(const DeviceInfo& device, const Workload& problem) {
  DeviceInfo few = device;
  few.sm_count = problem.sm_limit;
  return few;
}
constexpr int kLimitedResident = 1;  // a limited grid has at most one block for each SM
constexpr int kAnyResident = std::numeric_limits<int>::max();

}  // namespace

int resident_blocks(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch) {
  if (std::holds_alternative<WgmmaConfig>(config)) return blocks_per_sm(config);  // is_legal: they fit
  const int by_smem = arch.smem_per_sm_bytes / (smem_bytes(config, traits) + kReservedSmemPerBlockBytes);
  const int by_threads = arch.threads_per_sm / threads(config);
  const int registers = std::visit([&](const auto& c) { return estimated_registers(c, traits, arch); }, config);
  const int warps = div_up(threads(config) / kWarpSize, 4) * 4;
  const int by_registers = arch.registers_per_sm / (div_up(registers, 8) * 8 * warps * kWarpSize);
  return std::clamp(std::min({by_smem, by_threads, by_registers}), 1, 16);
}

double predict_us(const KernelConfig& config, const Workload& problem, const DeviceInfo& device,
                  const WgmmaModel& model) {
  const auto predict = [&](const Workload& on_sms) {
    if (leaves_out_sms(problem.sm_limit, device.sm_count))
      return predict_us(config, problem, on_sms, limited(device, problem), kLimitedResident, model);
    return predict_us(config, problem, on_sms, device, kAnyResident, model);
  };
  const double us = predict(problem);
  if (problem.group_kind != GroupKind::rows || is_empty(problem)) return us;
  const int tile_m = launch_shape(config, traits_of(problem)).tile_m;
  return (us + predict_skewed_us(problem, tile_m, predict)) / 2;
}

double bound_us(const Workload& problem, const DeviceInfo& device) {
  const bool is_limited = leaves_out_sms(problem.sm_limit, device.sm_count);
  const double sms = is_limited ? problem.sm_limit : device.sm_count;
  const Workload p = with_uniform_groups(problem);
  const GemmTraits traits = traits_of(p);
  const ArchRates& rates = arch_rates(device.arch);
  const double rate = traits.element == DType::f32         ? rates.cuda_f32_flops * kFmaShare
                      : arch_limits(device.arch).has_wgmma ? rates.tensor_f16_flops * 2 / size_bytes(traits.element)
                                                           : mma_flops(traits, rates) * rates.mma_share;
  return kLaunchUs + std::max(memory_us(p, device), flops(p) / (rate * sms * device.clock_mhz));
}

double memory_us(const Workload& problem, const DeviceInfo& device) {
  const Workload p = with_uniform_groups(problem);
  return matrix_bytes(p, columns_of_d(p), 1) / (device.dram_gbps * 1e3);
}

std::vector<Prediction> predict(const std::vector<KernelConfig>& configs, const Workload& problem,
                                const DeviceInfo& device) {
  std::vector<Prediction> predictions;
  predictions.reserve(configs.size());
  for (const KernelConfig& config : configs) predictions.push_back({config, predict_us(config, problem, device)});
  std::ranges::stable_sort(predictions, {}, &Prediction::us);
  return predictions;
}

std::vector<KernelConfig> rank(const std::vector<KernelConfig>& configs, const Workload& problem,
                               const DeviceInfo& device) {
  std::vector<KernelConfig> ranked;
  ranked.reserve(configs.size());
  for (const Prediction& prediction : predict(configs, problem, device)) ranked.push_back(prediction.config);
  return ranked;
}

LaunchConfig default_launch(const KernelConfig& config, const Workload& problem, const DeviceInfo& device) {
  if (leaves_out_sms(problem.sm_limit, device.sm_count)) {
    return default_launch(config, problem, limited(device, problem), kLimitedResident);
  }
  return default_launch(config, problem, device, kAnyResident);
}

}  // namespace hotgemm
