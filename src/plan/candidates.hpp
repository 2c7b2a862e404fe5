#pragma once

#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// Every config that the tuner may try for `traits` on `arch`: the menu of candidates.cpp, filtered by is_legal. Sorted
/// as the menu is, without duplicates.
std::vector<KernelConfig> candidates(const GemmTraits& traits, const ArchLimits& arch);

/// The few that are picked from without measuring, and that the tuner always tries: known not to spill on any
/// architecture (tests/nvrtc compiles them all). Never empty for a problem that the library supports.
std::vector<KernelConfig> anchors(const GemmTraits& traits, const ArchLimits& arch);

/// Every way to launch `config` that makes a difference on `problem`: rasters, of which one that takes all tiles in one
/// group is none, and whether it is programmatic, where `predicted_us` is short enough for that to matter.
std::vector<LaunchConfig> rasters(const KernelConfig& config, const Workload& problem, double predicted_us);

/// The config that results are compared with: slow, obvious, any shape, any architecture. f32 accumulation.
KernelConfig reference_config();

}  // namespace hotgemm
