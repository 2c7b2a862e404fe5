#pragma once

#include "config/device_info.hpp"
#include "shared/wgmma_config.hpp"

#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// The predicted microseconds that the SMs need for `problem`, from the start of the first block to the last store. The
/// model adds the launch and the DRAM limit, as for every family (model.hpp). `resident` is the number of blocks that
/// an SM holds at once, `splits` the number of parts of k; their sum is not included.
double wgmma_compute_us(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device, int resident,
                        int splits = 1);

/// The predicted microseconds for the sum of the parts, after the products of the slowest block. 0 for a config whose
/// blocks do not divide k.
double wgmma_reduce_us(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device, int resident,
                       int splits);

/// The predicted microseconds that DRAM loses while tiles read operands that other tiles have read, too; the blocks of
/// a cluster read them once. 0 for a config whose blocks do not divide k.
double wgmma_repeated_us(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device);

/// The numbers of parts to try for a config whose blocks divide k: the most for which all blocks run at once and have
/// products, then fewer in growing steps. {1} for another config.
std::vector<int> wgmma_splits(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device);
/// The one of them with the shortest prediction.
int wgmma_best_splits(const WgmmaConfig& config, const Workload& problem, const DeviceInfo& device, int resident);

}  // namespace hotgemm
