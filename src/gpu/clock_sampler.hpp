#pragma once

#include "base/clock_state.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvml.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace hotgemm {

/// Looks at the clock, power and limits of the current context's GPU, on a thread of its own, because a query of NVML
/// may take longer than the work that is queued on the GPU. Without NVML it takes no samples and has no thread.
class ClockSampler {
 public:
  explicit ClockSampler(const Driver& driver);
  ~ClockSampler();
  ClockSampler(const ClockSampler&) = delete;
  ClockSampler& operator=(const ClockSampler&) = delete;

  /// Forgets all samples and keeps those from now on.
  void start();
  /// Stops keeping samples and returns those since start().
  std::vector<ClockSample> stop();
  /// The power limit in force, in watts; empty if NVML does not report it.
  std::optional<double> power_limit_w() const;

 private:
  ClockSample look() const;
  void run();

  std::optional<Nvml> nvml_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<ClockSample> samples_;
  bool is_keeping_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace hotgemm
