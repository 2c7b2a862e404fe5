#include "config/device_info.hpp"

#include <hotgemm/error.hpp>

namespace hotgemm {
namespace {

std::string name_of(const ArchLimits& row) {
  std::string name = "sm_" + std::to_string(row.sm);
  if (row.suffix != 0) name += row.suffix;
  return name;
}

}  // namespace

const ArchLimits& arch_limits(std::string_view arch) {
  for (const ArchLimits& row : kArchTable) {
    if (name_of(row) == arch) return row;
  }
  std::string known;
  for (const std::string& name : known_archs()) known += (known.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::invalid_argument, "unknown arch \"" + std::string(arch) + "\"; known are " + known);
}

std::vector<std::string> known_archs() {
  std::vector<std::string> names;
  for (const ArchLimits& row : kArchTable) names.push_back(name_of(row));
  return names;
}

std::string arch_name(int major, int minor) {
  if (const ArchLimits* row = nearest_arch_limits(10 * major + minor)) return name_of(*row);
  throw Error(ErrorCode::not_supported, "GPUs of compute capability " + std::to_string(major) + "." +
                                            std::to_string(minor) + " are not supported");
}

DeviceInfo nominal_device(std::string_view arch) {
  const ArchLimits& row = arch_limits(arch);
  return {.arch = std::string(arch),
          .name = row.nominal_gpu,
          .sm_count = row.nominal_sm_count,
          .l2_bytes = row.nominal_l2_bytes,
          .memory_bytes = 0,
          .clock_mhz = row.nominal_clock_mhz,
          .dram_gbps = row.nominal_dram_gbps};
}

}  // namespace hotgemm
