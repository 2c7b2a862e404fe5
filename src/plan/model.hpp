#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <span>
#include <vector>

namespace hotgemm {

/// Predicted duration, in microseconds, of `config` on `problem`: tensor cores, shared memory, L2 and DRAM, of which
/// the slowest binds, times waves. It ranks; it does not promise.
double predict_us(const KernelConfig& config, const Workload& problem, const DeviceInfo& device);

/// How many blocks of `config` are resident on an SM at once, by shared memory, threads and estimated registers.
int resident_blocks(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch);

/// `configs` from the fastest predicted to the slowest; equal predictions keep their order.
std::vector<KernelConfig> rank(std::vector<KernelConfig> configs, const Workload& problem, const DeviceInfo& device);

/// A raster for `config`: the tiles in flight form about a square in elements, so that they share the most operands.
LaunchConfig default_launch(const KernelConfig& config, const Workload& problem, const DeviceInfo& device);

}  // namespace hotgemm
