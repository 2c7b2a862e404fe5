#include "records/size_index.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hotgemm {
namespace {

constexpr std::size_t kMostEntries = 16;  // of a box that is not halved

double square(double x) { return x * x; }

}  // namespace

SizeIndex::Place SizeIndex::Entry::place() const {
  Place place{};
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = std::log2(static_cast<double>(std::max(sizes[i], 1u)));
  return place;
}

SizeIndex::Entry SizeIndex::entry_of(const Sizes& sizes, std::size_t value) {
  const auto narrow = [](auto size) { return static_cast<std::uint32_t>(size); };
  return {{narrow(sizes.m), narrow(sizes.n), narrow(sizes.k)}, narrow(value)};
}

void SizeIndex::add(const Sizes& sizes, std::size_t value) {
  entries_.push_back(entry_of(sizes, value));
  nodes_.clear();
}

SizeIndex::Node SizeIndex::box_of(std::size_t begin, std::size_t end) const {
  Entry low = entries_[begin], high = entries_[begin];
  for (std::size_t at = begin; at < end; ++at) {
    for (std::size_t i = 0; i < low.sizes.size(); ++i) {
      low.sizes[i] = std::min(low.sizes[i], entries_[at].sizes[i]);
      high.sizes[i] = std::max(high.sizes[i], entries_[at].sizes[i]);
    }
  }
  return {.low = low.place(), .high = high.place(), .begin = begin, .end = end};
}

bool SizeIndex::split(std::size_t node) {
  const Node box = nodes_[node];
  if (box.first_child != 0) return true;
  if (box.end - box.begin <= kMostEntries) return false;
  std::size_t widest = 0;
  const auto width = [&](std::size_t i) { return box.high[i] - box.low[i]; };
  for (std::size_t i = 1; i < box.low.size(); ++i) widest = width(i) > width(widest) ? i : widest;
  if (!(width(widest) > 0)) return false;  // all have the same place
  const std::size_t middle = box.begin + (box.end - box.begin) / 2;
  const auto at = [&](std::size_t entry) { return entries_.begin() + static_cast<std::ptrdiff_t>(entry); };
  std::ranges::nth_element(at(box.begin), at(middle), at(box.end), {},
                           [&](const Entry& entry) { return entry.sizes[widest]; });
  nodes_[node].first_child = nodes_.size();
  nodes_.push_back(box_of(box.begin, middle));
  nodes_.push_back(box_of(middle, box.end));
  return true;
}

bool NearestSizes::Step::operator<(const Step& other) const {
  if (distance_squared != other.distance_squared) return distance_squared > other.distance_squared;
  if (entry == nullptr || other.entry == nullptr) return entry != nullptr && other.entry == nullptr;
  if (entry->sizes != other.entry->sizes) return entry->sizes > other.entry->sizes;
  return entry->value > other.entry->value;
}

void NearestSizes::search(SizeIndex& index) {
  if (index.size() == 0) return;
  if (index.nodes_.empty()) index.nodes_.push_back(index.box_of(0, index.size()));
  push_node(index, 0);
}

void NearestSizes::push_node(SizeIndex& index, std::size_t node) {
  const SizeIndex::Node& box = index.nodes_[node];
  double least = 0;
  for (std::size_t i = 0; i < centre_.size(); ++i) {
    least += square(centre_[i] - std::clamp(centre_[i], box.low[i], box.high[i]));
  }
  if (std::sqrt(least) <= farthest_) steps_.push({.distance_squared = least, .index = &index, .node = node});
}

void NearestSizes::push_entries(SizeIndex& index, const SizeIndex::Node& node) {
  for (std::size_t at = node.begin; at < node.end; ++at) {
    const SizeIndex::Entry& entry = index.entries_[at];
    const SizeIndex::Place place = entry.place();
    double apart = 0;
    for (std::size_t i = 0; i < centre_.size(); ++i) apart += square(centre_[i] - place[i]);
    if (std::sqrt(apart) <= farthest_) steps_.push({.distance_squared = apart, .index = &index, .entry = &entry});
    ++visited_;
  }
}

std::optional<NearestSizes::Hit> NearestSizes::next() {
  while (!steps_.empty()) {
    const Step step = steps_.top();
    steps_.pop();
    if (step.entry != nullptr) return Hit{step.entry->value, std::sqrt(step.distance_squared)};
    if (step.index->split(step.node)) {
      const std::size_t child = step.index->nodes_[step.node].first_child;
      push_node(*step.index, child);
      push_node(*step.index, child + 1);
    } else {
      push_entries(*step.index, step.index->nodes_[step.node]);
    }
  }
  return std::nullopt;
}

}  // namespace hotgemm
