#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "plan/wgmma_model.hpp"

#include <hotgemm/types.hpp>

#include <span>
#include <vector>

namespace hotgemm {

/// The predicted duration, in microseconds, of `config` on `problem`: the slowest of tensor cores, shared memory, L2
/// and DRAM, times waves. It is good for ranking configs, not as an absolute time. Under an SM limit the kernel has
/// only that many SMs, but all of the memory's bandwidth. Of groups of rows it is the mean of uniform and of skewed
/// ones (GroupShares). `model` holds the constants of family wgmma.
double predict_us(const KernelConfig& config, const Workload& problem, const DeviceInfo& device,
                  const WgmmaModel& model = {});

/// The least time in microseconds that predict_us can give a kernel: a launch, and the larger of what DRAM needs for
/// each matrix once and of what the GPU's units need for the products at their peak.
double bound_us(const Workload& problem, const DeviceInfo& device);

/// The microseconds that DRAM needs at its nominal rate to read A and B of `problem` and to write D, once each.
double memory_us(const Workload& problem, const DeviceInfo& device);

/// The number of blocks of `config` that an SM holds at once, by shared memory, threads and estimated registers.
int resident_blocks(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch);

struct Prediction {
  KernelConfig config;
  double us;  ///< by predict_us
};
/// The predictions for `configs`, from the fastest to the slowest; equal ones keep their order.
std::vector<Prediction> predict(const std::vector<KernelConfig>& configs, const Workload& problem,
                                const DeviceInfo& device);
/// The configs of predict(), in its order.
std::vector<KernelConfig> rank(const std::vector<KernelConfig>& configs, const Workload& problem,
                               const DeviceInfo& device);

/// A raster for `config`: the tiles in flight form roughly a square in elements, so that they share most operands.
LaunchConfig default_launch(const KernelConfig& config, const Workload& problem, const DeviceInfo& device);

}  // namespace hotgemm
