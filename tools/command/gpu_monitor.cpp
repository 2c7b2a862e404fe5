#include "command/gpu_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hotgemm::command {
namespace {

constexpr const char* kUnknown = "unknown";
constexpr unsigned kSmClock = 1;  // NVML_CLOCK_SM

}  // namespace

GpuMonitor::GpuMonitor(const Driver& driver, CUdevice device) : nvml_(driver, device) {}

void GpuMonitor::sample_clock() {
  unsigned mhz = 0;
  if (nvml_.device() != nullptr && nvml_.call("nvmlDeviceGetClockInfo", nvml_.device(), kSmClock, &mhz))
    clocks_mhz_.push_back(mhz);
}

std::string GpuMonitor::sm_clock() const {
  if (clocks_mhz_.empty()) return kUnknown;
  const auto [low, high] = std::ranges::minmax(clocks_mhz_);
  return low == high ? fmt::format("{} MHz", low) : fmt::format("{} to {} MHz", low, high);
}

std::string GpuMonitor::power_limit() const {
  const std::optional<double> watts = nvml_.power_limit_w();
  return watts ? fmt::format("{:.0f} W", *watts) : kUnknown;
}

std::string GpuMonitor::driver() const {
  std::array<char, 96> version{};
  const bool is_known = nvml_.call("nvmlSystemGetDriverVersion", version.data(), static_cast<unsigned>(version.size()));
  return is_known ? version.data() : kUnknown;
}

}  // namespace hotgemm::command
