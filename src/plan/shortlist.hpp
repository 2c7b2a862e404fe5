#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// `count` of `configs` for measuring, from the fastest predicted to the slowest. A prediction has the same error for
/// all variants of a tile, so that only a few variants of each are taken. One family does not take all places while
/// there are others. Any places left are filled with the fastest predicted of the remaining configs.
std::vector<KernelConfig> shortlist(std::vector<KernelConfig> configs, const Workload& problem,
                                    const DeviceInfo& device, int count);

}  // namespace hotgemm
