#pragma once

#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// What NVML says of a GPU: clock, power and the driver's version. What it does not say is "unknown".
class GpuMonitor {
 public:
  GpuMonitor(const Driver& driver, CUdevice device);

  /// Remembers the SM clock as it is now; to be called as soon as the GPU has been busy.
  void sample_clock();
  /// "1830 MHz" or "1755 to 1980 MHz": of the samples.
  std::string sm_clock() const;
  /// "700 W": the limit in force.
  std::string power_limit() const;
  /// "580.65.06".
  std::string driver() const;

 private:
  Nvml nvml_;
  std::vector<unsigned> clocks_mhz_;
};

}  // namespace hotgemm::command
