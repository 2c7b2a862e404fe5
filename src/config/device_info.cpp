#include "config/device_info.hpp"

#include "base/text.hpp"

#include <hotgemm/error.hpp>

#include <charconv>

namespace hotgemm {
namespace {

std::string name_of(const ArchLimits& row) {
  std::string name = "sm_" + std::to_string(row.sm);
  if (row.suffix != 0) name += row.suffix;
  return name;
}

/// A GPU whose memory is not that of its architecture's nominal GPU.
struct NamedGpu {
  const char* arch;
  const char* name;  ///< as the driver tells it
  int dram_gbps;
};
// NVIDIA's data sheet of the H100 SXM: 3.35 TB/s. Of the 1031 picks in its shipped records the model expects the times
// within 12 % with this rate, and within 23 % with that of an H200.
constexpr NamedGpu kNamedGpus[] = {{"sm_90a", "NVIDIA H100 80GB HBM3", 3350}};

}  // namespace

const ArchLimits& arch_limits(std::string_view arch) {
  // The number finds the row, and no name is made: planning a call asks a thousand times.
  constexpr std::string_view kPrefix = "sm_";
  int sm = 0;
  const char* const end = arch.data() + arch.size();
  const bool has_number = arch.starts_with(kPrefix) && arch.substr(kPrefix.size(), 1) != "0";
  const char* suffix = has_number ? std::from_chars(arch.data() + kPrefix.size(), end, sm).ptr : end;
  const ArchLimits* row = find_arch_limits(sm);
  if (row != nullptr && std::string_view(suffix, end) == std::string_view(&row->suffix, row->suffix != 0 ? 1 : 0)) {
    return *row;
  }
  std::string known;
  for (const std::string& name : known_archs()) known += (known.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::invalid_argument, "unknown arch " + in_quotes(arch) + "; known are " + known);
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

DeviceInfo nominal_device(std::string_view arch, std::string_view gpu) {
  DeviceInfo device = nominal_device(arch);
  for (const NamedGpu& named : kNamedGpus) {
    if (named.arch != arch || named.name != gpu) continue;
    device.name = named.name;
    device.dram_gbps = named.dram_gbps;
  }
  return device;
}

std::vector<std::string> named_gpus(std::string_view arch) {
  std::vector<std::string> names;
  for (const NamedGpu& named : kNamedGpus) {
    if (named.arch == arch) names.emplace_back(named.name);
  }
  return names;
}

}  // namespace hotgemm
