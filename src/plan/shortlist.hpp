#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// `count` of `configs`, from the fastest predicted to the slowest, for measuring. A prediction errs for all variants
/// of a tile alike, so that few of them come; nor does one family take every place while there are others. Where that
/// leaves places empty, the fastest predicted of the rest fill them.
std::vector<KernelConfig> shortlist(std::vector<KernelConfig> configs, const Workload& problem,
                                    const DeviceInfo& device, int count);

}  // namespace hotgemm
