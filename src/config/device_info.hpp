#pragma once

#include "shared/arch_limits.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A GPU as data, so that one that is absent can be planned for.
struct DeviceInfo {
  std::string arch;  ///< with suffix: "sm_90a"
  std::string name;  ///< "NVIDIA H200"
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int clock_mhz = 0;
  int dram_gbps = 0;  ///< GB/s
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// The row of ArchLimits for "sm_90a"; throws Error{invalid_argument} for an architecture hotgemm does not know,
/// naming those it does.
const ArchLimits& arch_limits(std::string_view arch);
/// "sm_75", …, "sm_90a", …
std::vector<std::string> known_archs();
/// The architecture that code for compute capability `major`.`minor` is built for.
std::string arch_name(int major, int minor);

/// The GPU that `arch` is planned for when none is named. `Policy::cached_only` and `estimate` plan for it too, so that
/// what prewarm builds without a GPU is what is picked with one.
DeviceInfo nominal_device(std::string_view arch);

}  // namespace hotgemm
