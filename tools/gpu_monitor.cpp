#include "gpu_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hotgemm::command {
namespace {

constexpr const char* kUnknown = "unknown";
constexpr unsigned kSmClock = 1;  // NVML_CLOCK_SM

/// Calls an NVML function; false where it is missing or fails.
template <class... Args>
bool call(const std::optional<SharedLibrary>& library, const char* name, Args... args) {
  if (!library) return false;
  const auto function = reinterpret_cast<int (*)(Args...)>(library->find(name));
  return function != nullptr && function(args...) == 0;
}

/// CUDA and NVML count GPUs differently; the place on the bus is the same.
std::string bus_id(const Driver& driver, CUdevice device) {
  std::array<int, 3> place{};
  constexpr std::array kAttributes{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                   CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (driver.cuDeviceGetAttribute(&place[i], kAttributes[i], device) != CUDA_SUCCESS) return {};
  }
  return fmt::format("{:08x}:{:02x}:{:02x}.0", place[0], place[1], place[2]);
}

}  // namespace

GpuMonitor::GpuMonitor(const Driver& driver, CUdevice device) {
  try {
    library_ = SharedLibrary::open("", {"libnvidia-ml.so.1"}, ErrorCode::no_driver);
  } catch (const Error&) {
    return;  // a result without a clock is still a result
  }
  if (!call(library_, "nvmlInit_v2")) {
    library_.reset();
    return;
  }
  const std::string bus = bus_id(driver, device);
  if (!call(library_, "nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &handle_)) handle_ = nullptr;
}

GpuMonitor::~GpuMonitor() { call(library_, "nvmlShutdown"); }

void GpuMonitor::sample_clock() {
  unsigned mhz = 0;
  if (handle_ != nullptr && call(library_, "nvmlDeviceGetClockInfo", handle_, kSmClock, &mhz))
    clocks_mhz_.push_back(mhz);
}

std::string GpuMonitor::sm_clock() const {
  if (clocks_mhz_.empty()) return kUnknown;
  const auto [low, high] = std::ranges::minmax(clocks_mhz_);
  return low == high ? fmt::format("{} MHz", low) : fmt::format("{} to {} MHz", low, high);
}

std::string GpuMonitor::power_limit() const {
  unsigned milliwatts = 0;
  if (handle_ == nullptr || !call(library_, "nvmlDeviceGetEnforcedPowerLimit", handle_, &milliwatts)) return kUnknown;
  return fmt::format("{} W", (milliwatts + 500) / 1000);
}

std::string GpuMonitor::driver() const {
  std::array<char, 96> version{};
  const bool is_known =
      call(library_, "nvmlSystemGetDriverVersion", version.data(), static_cast<unsigned>(version.size()));
  return is_known ? version.data() : kUnknown;
}

}  // namespace hotgemm::command
