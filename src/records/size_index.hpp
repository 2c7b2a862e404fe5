#pragma once

#include "config/problem_text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

namespace hotgemm {

/// Values by three sizes, found in the order of their distance √(Σ log2²(ratio of sizes)) from given sizes. It is a
/// tree of boxes over the logarithms. To add a value appends it; a box is halved when a search first enters it. So the
/// first search moves each value about twice, and a later one among 10⁵ visits some hundred values.
class SizeIndex {
 public:
  /// No search may go on meanwhile, and those that have begun end here.
  void add(const Sizes& sizes, std::size_t value);
  void reserve(std::size_t count) { entries_.reserve(count); }
  std::size_t size() const { return entries_.size(); }

 private:
  friend class NearestSizes;
  using Place = std::array<double, 3>;  ///< the logarithms of sizes
  /// Sizes, and values, have at most 32 bits. The logarithms are ordered as the sizes are, and are computed when a
  /// search comes to the entry: most entries are never visited.
  struct Entry {
    std::array<std::uint32_t, 3> sizes;
    std::uint32_t value = 0;
    Place place() const;
  };
  /// The smallest box around the places of entries_[begin, end).
  struct Node {
    Place low{};
    Place high{};
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t first_child = 0;  ///< 0: no children; else the first of two
  };

  static Entry entry_of(const Sizes& sizes, std::size_t value);
  Node box_of(std::size_t begin, std::size_t end) const;
  /// Halves the node, unless it has children or holds few values. Returns whether it has children.
  bool split(std::size_t node);

  std::vector<Entry> entries_;
  std::vector<Node> nodes_;
};

/// Values of some indexes, one after the other, the nearest first; at equal distances the one with the least m, then n,
/// then k. Searches change the indexes: those of one index must not run at the same time.
class NearestSizes {
 public:
  struct Hit {
    std::size_t value = 0;
    double distance = 0;
  };

  /// Values further away than `farthest` are not found.
  explicit NearestSizes(const Sizes& centre, double farthest = std::numeric_limits<double>::infinity())
      : centre_(SizeIndex::entry_of(centre, 0).place()), farthest_(farthest) {}

  void search(SizeIndex& index);
  /// nullopt if there is none left.
  std::optional<Hit> next();
  /// The number of values whose distance has been computed.
  std::size_t visited() const { return visited_; }

 private:
  /// A node, or an entry of a node. A node may hold entries that are nearer than those seen, so it comes before them.
  struct Step {
    double distance_squared = 0;
    SizeIndex* index = nullptr;
    std::size_t node = 0;
    const SizeIndex::Entry* entry = nullptr;  ///< nullptr for a node
    bool operator<(const Step& other) const;  ///< comes later
  };

  void push_node(SizeIndex& index, std::size_t node);
  void push_entries(SizeIndex& index, const SizeIndex::Node& node);

  SizeIndex::Place centre_;
  double farthest_;
  std::priority_queue<Step> steps_;
  std::size_t visited_ = 0;
};

}  // namespace hotgemm
