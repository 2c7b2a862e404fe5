#pragma once

#include "shared/arch_limits.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The properties of a GPU as data, so that the library can plan for a GPU that is not present.
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

/// The row of ArchLimits for "sm_90a". Throws Error{invalid_argument} that lists the known architectures if hotgemm
/// does not know `arch`.
const ArchLimits& arch_limits(std::string_view arch);
/// The names of all known architectures: "sm_75", …, "sm_90a", …
std::vector<std::string> known_archs();
/// The architecture for which code for compute capability `major`.`minor` is built.
std::string arch_name(int major, int minor);

/// The GPU that plans for `arch` assume if no GPU is named.
DeviceInfo nominal_device(std::string_view arch);
/// The same for the GPU that is called `gpu`, if it is one of named_gpus; else nominal_device(arch).
DeviceInfo nominal_device(std::string_view arch, std::string_view gpu);
/// The names of the GPUs of `arch` for which plans differ from those for other GPUs.
std::vector<std::string> named_gpus(std::string_view arch);

}  // namespace hotgemm
