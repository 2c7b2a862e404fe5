#pragma once

#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// False for a cluster of four that gains nothing on `problem`: it pays where rows begin within a sector, since each
/// block copies fewer of them, and where blocks divide k, which read operands often.
bool pays_for_cluster(const KernelConfig& config, const Workload& problem);

/// The menus of all families for `traits`: all configs to try, whether or not an architecture can run them.
std::vector<KernelConfig> menus(const GemmTraits& traits);

/// Every config that the tuner may try for `traits` on `arch`: the menus, filtered by is_legal. In the order of the
/// menus, without duplicates.
std::vector<KernelConfig> candidates(const GemmTraits& traits, const ArchLimits& arch);

/// The configs from which a choice without measuring begins, and which the tuner always tries. Bare, they do not spill
/// on any architecture (tests/nvrtc compiles them all). Never empty for a problem that the library supports.
std::vector<KernelConfig> anchors(const GemmTraits& traits, const ArchLimits& arch);

/// The configs for a problem, whose operands may have rows that some families can only read repacked. All of them add
/// in the order that the problem demands. Their launches may exceed its SM limit: see is_permitted.
std::vector<KernelConfig> candidates(const Workload& problem, const ArchLimits& arch);
std::vector<KernelConfig> anchors(const Workload& problem, const ArchLimits& arch);
/// `config` is a candidate for `problem`. These are the candidates that differ from it in one respect, and in the
/// stages that fit. Empty for families other than wgmma.
std::vector<KernelConfig> variants(const KernelConfig& config, const Workload& problem, const ArchLimits& arch);

/// `config` with so few stages that a warp has a second buffer for D: the next piece of a matrix that the epilogue
/// reads is copied there while the one before is computed. Nothing if the epilogue reads none, there are two buffers
/// already, or two do not fit.
std::optional<KernelConfig> with_second_buffer(const KernelConfig& config, const GemmTraits& traits);

/// `config` from the record of another product, with as many of its stages as fit beside their scales of blocks.
KernelConfig with_room_for_scales(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch);

/// A programmatic launch saves a few microseconds, so it is tried for kernels below this time only.
inline constexpr double kProgrammaticBelowUs = 60;

/// The launches of `config` that may differ in speed on `problem`: each raster whose groups are no wider than the tiles
/// of D; and each also as a programmatic launch, if the family can wait for its predecessor and `predicted_us` is below
/// kProgrammaticBelowUs. Under an SM limit below `sm_count`, the number of SMs of the GPU, only those that stay
/// within it. May be empty.
std::vector<LaunchConfig> rasters(const KernelConfig& config, const Workload& problem, int sm_count,
                                  double predicted_us);

/// The config that produces reference results: slow, simple, for any shape and any architecture. Accumulates in f32.
KernelConfig reference_config();

}  // namespace hotgemm
