#include "records/size_index.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kWidth = 32;         // sizes are below 2^31
constexpr double kLeastWidth = 1e-6;  // of a cube that is split: entries may have the same place
constexpr std::size_t kMostEntries = 16;

double square(double x) { return x * x; }

}  // namespace

SizeIndex::Place SizeIndex::place_of(const Sizes& sizes) {
  const auto log2 = [](std::int64_t size) { return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1))); };
  return {log2(sizes.m), log2(sizes.n), log2(sizes.k)};
}

std::size_t SizeIndex::child_of(const Node& node, const Place& place) const {
  std::size_t child = node.first_child;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] >= node.low[i] + node.width / 2) child += std::size_t{1} << i;
  }
  return child;
}

void SizeIndex::add(const Sizes& sizes, std::size_t value) {
  if (nodes_.empty()) nodes_.push_back({.width = kWidth});
  Entry entry{sizes, place_of(sizes), value};
  std::size_t at = 0;
  while (nodes_[at].first_child != 0) at = child_of(nodes_[at], entry.place);
  nodes_[at].entries.push_back(std::move(entry));
  ++size_;
  if (nodes_[at].entries.size() > kMostEntries && nodes_[at].width > kLeastWidth) split(at);
}

void SizeIndex::split(std::size_t node) {
  const std::size_t first = nodes_.size();
  const Place low = nodes_[node].low;
  const double half = nodes_[node].width / 2;
  for (std::size_t child = 0; child < 8; ++child) {
    Node made{.low = low, .width = half};
    for (std::size_t i = 0; i < low.size(); ++i) made.low[i] += (child >> i & 1U) != 0 ? half : 0;
    nodes_.push_back(std::move(made));
  }
  nodes_[node].first_child = first;
  for (Entry& entry : std::exchange(nodes_[node].entries, {})) {
    nodes_[child_of(nodes_[node], entry.place)].entries.push_back(std::move(entry));
  }
}

bool NearestSizes::Step::operator<(const Step& other) const {
  if (distance_squared != other.distance_squared) return distance_squared > other.distance_squared;
  if (entry == nullptr || other.entry == nullptr) return entry != nullptr && other.entry == nullptr;
  const auto order = [](const Sizes& sizes) { return std::tuple(sizes.m, sizes.n, sizes.k); };
  return order(entry->sizes) > order(other.entry->sizes);
}

void NearestSizes::search(const SizeIndex& index) {
  if (!index.nodes_.empty()) push_node(index, index.nodes_.front());
}

void NearestSizes::push_node(const SizeIndex& index, const SizeIndex::Node& node) {
  double least = 0;
  for (std::size_t i = 0; i < centre_.size(); ++i) {
    least += square(centre_[i] - std::clamp(centre_[i], node.low[i], node.low[i] + node.width));
  }
  steps_.push({.distance_squared = least, .index = &index, .node = &node});
}

std::optional<NearestSizes::Hit> NearestSizes::next() {
  while (!steps_.empty()) {
    const Step step = steps_.top();
    steps_.pop();
    if (step.entry != nullptr) return Hit{step.entry->value, std::sqrt(step.distance_squared)};
    for (const SizeIndex::Entry& entry : step.node->entries) {
      double apart = 0;
      for (std::size_t i = 0; i < centre_.size(); ++i) apart += square(centre_[i] - entry.place[i]);
      steps_.push({.distance_squared = apart, .index = step.index, .entry = &entry});
      ++visited_;
    }
    if (step.node->first_child == 0) continue;
    for (std::size_t child = 0; child < 8; ++child) {
      const SizeIndex::Node& node = step.index->nodes_[step.node->first_child + child];
      if (node.first_child != 0 || !node.entries.empty()) push_node(*step.index, node);
    }
  }
  return std::nullopt;
}

}  // namespace hotgemm
