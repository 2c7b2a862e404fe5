#include "base/clock_state.hpp"

#include "base/statistics.hpp"

#include <algorithm>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::uint64_t kPowerCap = 0x4;  // nvmlClocksEventReasonSwPowerCap

/// A limit that makes a block of measurements worthless, because it comes and goes by itself. The other bits of NVML
/// are no such limits: an idle GPU, clocks that a user has set.
struct OtherLimit {
  std::uint64_t bit;
  const char* name;
};
constexpr OtherLimit kOtherLimits[] = {
    {0x08, "hardware slowdown"}, {0x20, "heat"}, {0x40, "heat (hardware)"}, {0x80, "power brake"}};

template <class Number>
double share(Number part, int whole) {
  return whole > 0 ? static_cast<double>(part) / whole : 0;
}

}  // namespace

ClockState state_of(std::span<const ClockSample> samples) {
  ClockState state;
  std::vector<double> mhz, watts;
  int capped = 0, other = 0;
  for (const ClockSample& sample : samples) {
    mhz.push_back(sample.mhz);
    watts.push_back(sample.watts);
    if (!sample.reasons) continue;
    ++state.samples;
    capped += (*sample.reasons & kPowerCap) != 0 ? 1 : 0;
    other += is_throttled_otherwise(*sample.reasons) ? 1 : 0;
    state.reasons |= *sample.reasons;
  }
  state.mhz = median(mhz);
  state.watts = median(watts);
  state.power_cap_share = share(capped, state.samples);
  state.other_share = share(other, state.samples);
  return state;
}

std::string throttle_text(std::uint64_t reasons) {
  std::string text = (reasons & kPowerCap) != 0 ? "power cap" : "";
  for (const OtherLimit& limit : kOtherLimits) {
    if ((reasons & limit.bit) != 0) text += (text.empty() ? "" : " + ") + std::string(limit.name);
  }
  return text.empty() ? "none" : text;
}

bool is_throttled_otherwise(std::uint64_t reasons) {
  return std::ranges::any_of(kOtherLimits, [&](const OtherLimit& limit) { return (reasons & limit.bit) != 0; });
}

std::string_view to_string(PowerVerdict verdict) {
  switch (verdict) {
    case PowerVerdict::unknown: return "unknown";
    case PowerVerdict::free: return "free";
    case PowerVerdict::binds: return "binds";
  }
  return "?";
}

PowerVerdict verdict_of(const ClockState& alone) {
  if (alone.samples == 0) return PowerVerdict::unknown;
  return alone.power_cap_share >= 0.5 ? PowerVerdict::binds : PowerVerdict::free;
}

}  // namespace hotgemm
