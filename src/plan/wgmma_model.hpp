#pragma once

#include "config/device_info.hpp"
#include "shared/wgmma_config.hpp"

#include <hotgemm/types.hpp>

namespace hotgemm {

/// The predicted microseconds that the SMs need for `problem`, from the start of the first block to the last store. The
/// model adds the launch and the DRAM limit, as for every family (model.hpp). `resident` is the number of blocks that
/// an SM holds at once.
double wgmma_compute_us(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device, int resident);

}  // namespace hotgemm
