#include "gpu/nvml.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace hotgemm {
namespace {

constexpr unsigned kPowerInstant = 186;   // NVML_FI_DEV_POWER_INSTANT, in milliwatts
constexpr unsigned kTypeUnsignedInt = 1;  // NVML_VALUE_TYPE_UNSIGNED_INT

// nvmlFieldValue_t.
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp_us = 0;
  long long latency_us = 0;
  unsigned type = 0;
  int result = 0;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_unsigned_long_long;
  } value{};
};
static_assert(sizeof(FieldValue) == 40);

// nvmlProcessInfo_t as version 2 and later of the functions use it.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

std::string bus_id(const Driver& driver, CUdevice device) {
  std::array<int, 3> place{};
  constexpr std::array kAttributes{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                   CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (driver.cuDeviceGetAttribute(&place[i], kAttributes[i], device) != CUDA_SUCCESS) return {};
  }
  return fmt::format("{:08x}:{:02x}:{:02x}.0", place[0], place[1], place[2]);
}

Nvml::Nvml(const Driver& driver, CUdevice device) {
  try {
    library_ = SharedLibrary::open("", {"libnvidia-ml.so.1"}, ErrorCode::no_driver);
  } catch (const Error&) {
    return;
  }
  if (!call("nvmlInit_v2")) {
    library_.reset();
    return;
  }
  const std::string bus = bus_id(driver, device);
  if (!call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &device_)) device_ = nullptr;
}

Nvml::~Nvml() { call("nvmlShutdown"); }

std::optional<double> Nvml::power_limit_w() const {
  unsigned milliwatts = 0;
  if (device_ == nullptr || !call("nvmlDeviceGetEnforcedPowerLimit", device_, &milliwatts)) return std::nullopt;
  return milliwatts / 1000.0;
}

std::optional<double> Nvml::power_w() const {
  if (device_ == nullptr) return std::nullopt;
  FieldValue power;
  power.field = kPowerInstant;
  unsigned milliwatts = 0;
  if (call("nvmlDeviceGetFieldValues", device_, 1, &power) && power.result == 0 && power.type == kTypeUnsignedInt) {
    return power.value.as_unsigned / 1000.0;
  }
  // Averaged over a second on some GPUs.
  if (call("nvmlDeviceGetPowerUsage", device_, &milliwatts)) return milliwatts / 1000.0;
  return std::nullopt;
}

std::optional<unsigned> Nvml::mps_clients() const {
  std::vector<ProcessInfo> processes(256);
  for (const char* name :
       {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"}) {
    auto count = static_cast<unsigned>(processes.size());
    if (device_ != nullptr && call(name, device_, &count, processes.data())) return count;
  }
  return std::nullopt;
}

}  // namespace hotgemm
