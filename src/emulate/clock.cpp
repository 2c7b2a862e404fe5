#include "emulate/clock.hpp"

#include <algorithm>

namespace hotgemm::emulate {
namespace {

void raise(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  std::transform(other.begin(), other.end(), clock.begin(), clock.begin(),
                 [](auto a, auto b) { return std::max(a, b); });
}

void raise(Clock& clock, std::size_t id, std::uint32_t epoch) {
  if (clock.size() <= id) clock.resize(id + 1);
  clock[id] = std::max(clock[id], epoch);
}

ClockPtr join(const ClockPtr& a, const ClockPtr& b) {
  if (a == b || b->empty()) return a;
  if (a->empty()) return b;
  auto joined = std::make_shared<Clock>(*a);
  raise(*joined, *b);
  return joined;
}

/// The join of one clock of each arrival, which `get` selects.
template <class Get>
ClockPtr join_all(std::span<const Arrival> arrivals, const Get& get) {
  ClockPtr joined = get(arrivals.front().view);
  const Clock* last = joined.get();
  for (const Arrival& arrival : arrivals) {
    if (get(arrival.view).get() == last) continue;  // most threads have the clock of the same barrier
    last = get(arrival.view).get();
    joined = join(joined, get(arrival.view));
  }
  return joined;
}

}  // namespace

View join(std::span<const Arrival> arrivals) {
  auto seen = std::make_shared<Clock>(*join_all(
      arrivals, [](const View& view) -> auto& { return view.seen; }));
  OtherClustersPtr others;
  for (const Arrival& arrival : arrivals) {
    raise(*seen, arrival.thread, arrival.epoch);
    others = join(others, arrival.view.others);
  }
  return {std::move(seen),
          join_all(
              arrivals, [](const View& view) -> auto& { return view.fenced; }),
          std::move(others)};
}

View join(const View& a, const View& b) {
  return {join(a.seen, b.seen), join(a.fenced, b.fenced), join(a.others, b.others)};
}

OtherClustersPtr join(const OtherClustersPtr& a, const OtherClustersPtr& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  auto joined = std::make_shared<OtherClusters>(*a);
  for (const auto& [cluster, clock] : *b) {
    ClockPtr& known = (*joined)[cluster];
    known = known == nullptr ? clock : join(known, clock);
  }
  return joined;
}

ClockPtr advanced(const Clock& clock, std::size_t id, std::uint32_t epoch) {
  auto later = std::make_shared<Clock>(clock);
  raise(*later, id, epoch);
  return later;
}

Clock meet(const Clock& a, const Clock& b) {
  Clock both(std::min(a.size(), b.size()));
  for (std::size_t id = 0; id < both.size(); ++id) both[id] = std::min(a[id], b[id]);
  return both;
}

OtherClustersPtr meet(const OtherClustersPtr& a, const OtherClustersPtr& b) {
  if (a == b) return a;
  if (a == nullptr || b == nullptr) return nullptr;
  auto both = std::make_shared<OtherClusters>();
  for (const auto& [cluster, clock] : *a) {
    const auto other = b->find(cluster);
    if (other != b->end()) (*both)[cluster] = std::make_shared<const Clock>(meet(*clock, *other->second));
  }
  return both;
}

View meet(const View& a, const View& b) {
  if (a == b) return a;
  return {std::make_shared<const Clock>(meet(*a.seen, *b.seen)),
          std::make_shared<const Clock>(meet(*a.fenced, *b.fenced)), meet(a.others, b.others)};
}

}  // namespace hotgemm::emulate
