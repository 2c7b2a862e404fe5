#include "emulate/clock.hpp"

#include <algorithm>

namespace hotgemm::emulate {

ClockPtr join(std::span<const Arrival> arrivals) {
  auto joined = std::make_shared<Clock>(*arrivals.front().clock);
  const Clock* last = arrivals.front().clock.get();
  for (const Arrival& arrival : arrivals) {
    if (arrival.clock.get() == last) continue;  // most threads come from the same barrier
    last = arrival.clock.get();
    std::ranges::transform(*joined, *last, joined->begin(), [](auto a, auto b) { return std::max(a, b); });
  }
  for (const Arrival& arrival : arrivals) {
    std::uint32_t& own = (*joined)[arrival.thread];
    own = std::max(own, arrival.epoch);
  }
  return joined;
}

}  // namespace hotgemm::emulate
