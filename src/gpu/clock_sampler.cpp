#include "gpu/clock_sampler.hpp"

#include "base/blocked_signals.hpp"

#include <chrono>
#include <utility>

namespace hotgemm {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(10);
constexpr unsigned kSmClock = 1;  // NVML_CLOCK_SM

}  // namespace

ClockSampler::ClockSampler(const Driver& driver) {
  CUdevice device = 0;
  if (driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) return;
  nvml_.emplace(driver, device);
  if (nvml_->device() == nullptr) {
    nvml_.reset();
    return;
  }
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

ClockSampler::~ClockSampler() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ClockSampler::start() {
  {
    const std::lock_guard lock(mutex_);
    samples_.clear();
    is_keeping_ = true;
  }
  changed_.notify_all();
}

std::vector<ClockSample> ClockSampler::stop() {
  const std::lock_guard lock(mutex_);
  is_keeping_ = false;
  return std::exchange(samples_, {});
}

std::optional<double> ClockSampler::power_limit_w() const { return nvml_ ? nvml_->power_limit_w() : std::nullopt; }

ClockSample ClockSampler::look() const {
  ClockSample sample;
  unsigned mhz = 0;
  if (nvml_->call("nvmlDeviceGetClockInfo", nvml_->device(), kSmClock, &mhz)) sample.mhz = mhz;
  unsigned long long reasons = 0;
  if (nvml_->call("nvmlDeviceGetCurrentClocksEventReasons", nvml_->device(), &reasons) ||
      nvml_->call("nvmlDeviceGetCurrentClocksThrottleReasons", nvml_->device(), &reasons)) {
    sample.reasons = reasons;
  }
  if (const std::optional<double> watts = nvml_->power_w()) sample.watts = *watts;
  return sample;
}

void ClockSampler::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (!is_keeping_) {
      changed_.wait(lock, [this] { return ends_ || is_keeping_; });
      continue;
    }
    lock.unlock();
    const ClockSample sample = look();
    lock.lock();
    if (is_keeping_) samples_.push_back(sample);
    changed_.wait_for(lock, kPeriod, [this] { return ends_; });
  }
}

}  // namespace hotgemm
