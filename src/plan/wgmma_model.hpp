#pragma once

#include "config/device_info.hpp"
#include "shared/wgmma_config.hpp"

#include <hotgemm/types.hpp>

namespace hotgemm {

/// Predicted microseconds that the SMs need for `problem`, from a block's start to its last store. Launching and what
/// DRAM bounds come on top, as for every family (model.hpp). `resident` is how many blocks an SM holds at once.
double wgmma_compute_us(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device, int resident);

}  // namespace hotgemm
