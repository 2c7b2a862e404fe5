#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <span>
#include <vector>

// The speed of kernels under the power cap. A kernel that needs fewer clocks but more energy makes the GPU lower its
// clock, so that clocks alone do not tell which kernel is faster in a program.

namespace hotgemm {

/// Below this time a launch may cost the host more than the GPU, so that the GPU's time is measured in graph mode as
/// well. So short a problem does not heat the GPU for long.
inline constexpr double kGraphBelowUs = 20;

/// The picojoules that `config` needs for each floating-point operation of `problem` at a clock of 1400 MHz: for the
/// operation, and for the bytes from L2 to shared memory. Parts of tiles that lie beyond the edges of D count.
double picojoules_per_flop(const KernelConfig& config, const Workload& problem);

/// The time of a kernel that runs alone under the power cap, relative to other results of this function.
/// `relative_clocks` is the number of clocks that it needs, divided by that of the kernel that needs fewest, and
/// `picojoules` is picojoules_per_flop.
double capped_time(double relative_clocks, double picojoules);

/// The joules of a kernel that runs alone at the highest clock, because it does not reach the power cap, relative to
/// other results of this function. Under the cap every kernel draws the cap, so that its joules are proportional to
/// capped_time.
double free_joules(double relative_clocks, double picojoules);

/// A model of what a kernel costs: capped_time or free_joules.
using PowerCost = double (*)(double relative_clocks, double picojoules);

/// True if a kernel that takes `us` on `problem` may reach the power cap of `device`: it keeps the units that multiply
/// busy enough. Problems below kGraphBelowUs do not.
bool may_reach_power_cap(const Workload& problem, double us, const DeviceInfo& device);

/// True if capped_time orders kernels of `problem` on such a GPU, the fastest of which takes `us`: on tensor cores of
/// sm_90, unless kernels wait for DRAM, which a lower clock does not slow down. It was fitted to operands of 16 bits.
bool is_modelled(const Workload& problem, double us, const DeviceInfo& device);

/// The most clocks that a kernel may need, as a multiple of the fewest, to be picked by the model alone. A kernel that
/// saves energy gains a clock that is higher by a tenth at most (docs/measuring.md).
inline constexpr double kMostClocks = 1.15;

/// The factor that turns a time in rounds, where all kernels run at one clock, into one that is comparable under the
/// power cap; infinite if the kernel needs more than kMostClocks.
double capped_factor(double relative_clocks, double picojoules);

/// A kernel that was timed in rounds, or predicted.
struct PowerCandidate {
  double us = 0;
  double picojoules = 0;  ///< picojoules_per_flop
  int tile = 0;           ///< kernels with the same number have the same tile
};

/// Up to `count` of `candidates` that may be the fastest under the power cap, or cost least by another model, best
/// first: at most two of a tile.
std::vector<std::size_t> best_under_power_cap(std::span<const PowerCandidate> candidates, std::size_t count,
                                              PowerCost cost = capped_time);

/// Up to `count` of `candidates` for a final over blocks: half of them the fastest, the others those of
/// best_under_power_cap, and then again the fastest. In the order in which they were chosen.
std::vector<std::size_t> pick_for_power_final(std::span<const PowerCandidate> candidates, std::size_t count,
                                              PowerCost cost = capped_time);

/// The candidate for `config` with the time `us`.
PowerCandidate power_candidate(const KernelConfig& config, const Workload& problem, double us);

/// Up to `count` of `configs` that the model expects to be the fastest under the power cap; none if it does not expect
/// that the power cap binds.
std::vector<KernelConfig> frugal(const std::vector<KernelConfig>& configs, const Workload& problem,
                                 const DeviceInfo& device, int count);

}  // namespace hotgemm
