#pragma once

#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// Facts about a GPU from NVML: clock, power limit and driver version. A fact that NVML does not give is "unknown".
class GpuMonitor {
 public:
  GpuMonitor(const Driver& driver, CUdevice device);

  /// Records the current SM clock. Call it right after the GPU was busy.
  void sample_clock();
  /// The range of the samples: "1830 MHz" or "1755 to 1980 MHz".
  std::string sm_clock() const;
  /// The power limit in force: "700 W".
  std::string power_limit() const;
  /// The driver version: "580.65.06".
  std::string driver() const;

 private:
  Nvml nvml_;
  std::vector<unsigned> clocks_mhz_;
};

}  // namespace hotgemm::command
