#include "plan/power_model.hpp"

#include "config/arch_rates.hpp"
#include "config/group_sizes.hpp"
#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "plan/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace hotgemm {
namespace {

// Fitted to the rates of 227 kernels of family wgmma that ran alone on an H200 with a cap of 700 W, of 16 large
// problems. Within a problem the model meets these rates by 1.1 % in the root mean square (docs/notebook/search.md,
// 20).
constexpr int kFittedElementBytes = 2;
constexpr double kWatts = 685;                // that the GPU draws under the cap
constexpr double kBasePicojoules = 0.8;       // pJ per operation at the reference clock, if nothing is moved
constexpr double kBytePicojoules = 22.5;      // pJ per byte that is moved to shared memory
constexpr double kPingPongSaves = 0.022;      // pJ per operation
constexpr double kClusterPicojoules = 0.013;  // pJ per operation that a cluster costs, net of the bytes that it saves
constexpr double kReferenceMhz = 1400;        // clock at which these joules hold
constexpr double kVoltageSlope = 1.5;         // relative growth of joules by relative growth of the clock
constexpr double kMhzPerTflops = 2.12;        // of the kernel that needs the fewest clocks

// Not fitted: an H200 that multiplies draws about a fifth of its power whatever it does.
constexpr double kStaticShare = 0.2;  // of kBasePicojoules; grows with the time

// Rounds order the kernels of four products of 128 rows as blocks do, and the model does not. Their matrices take 0.75
// to 0.82 of the time at DRAM's nominal rate (docs/notebook/search.md, 28).
constexpr double kMemoryShare = 0.6;

constexpr double kBusyShare = 0.35;       // of the nominal rate; kernels below this share do not reach the cap
constexpr double kCandidateSpread = 1.3;  // slower kernels than the best by this factor are not worth a block
constexpr std::size_t kPerTile = 2;

double padded(std::int64_t size, int tile) {
  return std::ceil(static_cast<double>(size) / tile) * tile / static_cast<double>(size);
}

/// The rows that tiles of `tile_m` rows multiply for each row of groups of rows: the mean of uniform and skewed groups.
double multiplied_rows(const Workload& problem, int tile_m) {
  const double skewed = tiles_of_skewed_groups(problem, tile_m) * tile_m / static_cast<double>(problem.m);
  return (padded(with_uniform_groups(problem).m, tile_m) + skewed) / 2;
}

/// Operations per SM and clock of the units that multiply elements of type `type`.
double nominal_flops(DType type, const ArchRates& rates) {
  if (type == DType::f32) return rates.cuda_f32_flops;
  return rates.tensor_f16_flops * 2 / std::max(size_bytes(type), 1);
}

}  // namespace

// An instruction multiplies 32 bytes of k in every type. Elements of other than 16 bits are counted as these bytes:
// their instructions are taken to need as much energy, which was not fitted.
double picojoules_per_flop(const KernelConfig& config, const Workload& asked) {
  const Workload problem = with_uniform_groups(asked);
  const double m = block_m(config), n = block_n(config);
  const double moved = (m + n) * kFittedElementBytes / (2 * m * n);
  const double bytes = moved * padded(problem.n, block_n(config));
  // Beyond the edge of D zeros are multiplied, which costs no energy; beyond that of a group, rows of the next one.
  double picojoules = asked.group_kind == GroupKind::rows
                          ? multiplied_rows(asked, block_m(config)) * (kBasePicojoules + kBytePicojoules * bytes)
                          : kBasePicojoules + kBytePicojoules * bytes * padded(problem.m, block_m(config));
  if (const auto* wgmma = std::get_if<WgmmaConfig>(&config)) {
    if (wgmma->ping_pong) picojoules -= kPingPongSaves;
    if (wgmma->cluster() > 1) picojoules += kClusterPicojoules;
  }
  return picojoules;
}

double capped_time(double relative_clocks, double picojoules) {
  // The rate r for which r · joules(clock) = watts. The clock is r · clocks, and joules grow linearly with it.
  const double square = kVoltageSlope * kMhzPerTflops * relative_clocks / kReferenceMhz * picojoules;
  const double linear = (1 - kVoltageSlope) * picojoules;
  const double rate = (-linear + std::sqrt(linear * linear + 4 * square * kWatts)) / (2 * square);
  return 1 / rate;
}

bool is_modelled(const Workload& problem, double us, const DeviceInfo& device) {
  const bool by_tensor_cores = multiplied_type(problem.types.a, problem.types.compute) != DType::f32;
  const bool waits_for_memory = memory_us(problem, device) > kMemoryShare * us;
  return by_tensor_cores && !waits_for_memory && arch_limits(device.arch).sm == 90;
}

double capped_factor(double relative_clocks, double picojoules) {
  if (!(relative_clocks <= kMostClocks)) return std::numeric_limits<double>::infinity();
  return capped_time(relative_clocks, picojoules) / relative_clocks;
}

double free_joules(double relative_clocks, double picojoules) {
  return picojoules + kStaticShare * kBasePicojoules * (relative_clocks - 1);
}

bool may_reach_power_cap(const Workload& problem, double us, const DeviceInfo& device) {
  if (!(us >= kGraphBelowUs)) return false;
  const double nominal =
      nominal_flops(multiplied_type(problem.types.a, problem.types.compute), arch_rates(device.arch)) * device.sm_count;
  return flops(problem) / us >= kBusyShare * nominal * device.clock_mhz;
}

std::vector<std::size_t> best_under_power_cap(std::span<const PowerCandidate> candidates, std::size_t count,
                                              PowerCost cost) {
  double least_us = std::numeric_limits<double>::infinity();
  for (const PowerCandidate& c : candidates) least_us = std::min(least_us, c.us);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const PowerCandidate& c = candidates[i];
    if (c.us <= kCandidateSpread * least_us) order.emplace_back(cost(c.us / least_us, c.picojoules), i);
  }
  std::ranges::sort(order);
  std::map<int, std::vector<double>> of_tile;
  std::vector<std::size_t> best;
  for (const auto& [predicted, i] : order) {
    std::vector<double>& taken = of_tile[candidates[i].tile];
    // A prediction is the same for pipelines of different depths. The first one, the deepest, is enough.
    const bool is_twin = !taken.empty() && taken.back() == predicted;
    if (best.size() == count || taken.size() == kPerTile || is_twin) continue;
    taken.push_back(predicted);
    best.push_back(i);
  }
  return best;
}

std::vector<std::size_t> pick_for_power_final(std::span<const PowerCandidate> candidates, std::size_t count,
                                              PowerCost cost) {
  std::vector<std::size_t> by_time(candidates.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::ranges::stable_sort(by_time, {}, [&](std::size_t i) { return candidates[i].us; });
  std::vector<std::size_t> chosen;
  const auto add = [&](const std::vector<std::size_t>& some, std::size_t most) {
    for (const std::size_t i : some) {
      if (chosen.size() < most && std::ranges::find(chosen, i) == chosen.end()) chosen.push_back(i);
    }
  };
  add(by_time, count / 2);
  add(best_under_power_cap(candidates, count, cost), count);
  add(by_time, count);
  return chosen;
}

PowerCandidate power_candidate(const KernelConfig& config, const Workload& problem, double us) {
  return {
      .us = us, .picojoules = picojoules_per_flop(config, problem), .tile = block_m(config) * 65536 + block_n(config)};
}

std::vector<KernelConfig> frugal(const std::vector<KernelConfig>& configs, const Workload& problem,
                                 const DeviceInfo& device, int count) {
  std::vector<PowerCandidate> all;
  double least_us = std::numeric_limits<double>::infinity();
  for (const KernelConfig& config : configs) {
    all.push_back(power_candidate(config, problem, predict_us(config, problem, device)));
    least_us = std::min(least_us, all.back().us);
  }
  std::vector<KernelConfig> best;
  if (count <= 0 || !may_reach_power_cap(problem, least_us, device)) return best;
  for (const std::size_t i : best_under_power_cap(all, static_cast<std::size_t>(count))) best.push_back(configs[i]);
  return best;
}

}  // namespace hotgemm
