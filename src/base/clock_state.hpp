#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Summaries of a GPU's clock, power and limits while a kernel runs, from samples. All functions are pure.

namespace hotgemm {

/// One look at the GPU. Parts that the driver does not report are NaN, or empty.
struct ClockSample {
  double mhz = std::numeric_limits<double>::quiet_NaN();
  double watts = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::uint64_t> reasons;  ///< why the clock is lower than it could be, as NVML's bits
};

/// A summary of samples. Medians are NaN if no sample has the value.
struct ClockState {
  double mhz = std::numeric_limits<double>::quiet_NaN();    ///< median
  double watts = std::numeric_limits<double>::quiet_NaN();  ///< median
  int samples = 0;                                          ///< those that report reasons
  double power_cap_share = 0;                               ///< share of these samples that name the power cap
  double other_share = 0;     ///< share of these samples that name another limit: heat, or the power supply
  std::uint64_t reasons = 0;  ///< limits that at least one sample names, as NVML's bits
};

ClockState state_of(std::span<const ClockSample> samples);

/// The limits in `reasons` for people: "power cap", "heat", "power brake", or several with a plus sign; "none" if
/// nothing limits the clock.
std::string throttle_text(std::uint64_t reasons);
/// True if `reasons` name a limit other than the power cap.
bool is_throttled_otherwise(std::uint64_t reasons);

enum class PowerVerdict {
  unknown,  ///< the driver does not say what limits the clock
  free,     ///< the power cap does not bind
  binds,    ///< at least half of the samples name the power cap
};
std::string_view to_string(PowerVerdict verdict);

/// The verdict on a kernel that ran alone.
PowerVerdict verdict_of(const ClockState& alone);

}  // namespace hotgemm
