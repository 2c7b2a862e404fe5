#pragma once

#include "config/problem_text.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <queue>
#include <vector>

namespace hotgemm {

/// Values by three sizes, found in the order of their distance √(Σ log2²(ratio of sizes)) from given sizes. It is an
/// octree over the logarithms: to add a value, or to find the nearest ones among 10⁵, visits some hundred entries.
class SizeIndex {
 public:
  void add(const Sizes& sizes, std::size_t value);
  std::size_t size() const { return size_; }

 private:
  friend class NearestSizes;
  using Place = std::array<double, 3>;
  struct Entry {
    Sizes sizes;
    Place place;  ///< the logarithms
    std::size_t value = 0;
  };
  /// A cube of places. It has entries or eight children, the halves in each dimension.
  struct Node {
    Place low{};
    double width = 0;
    std::size_t first_child = 0;  ///< 0: no children
    std::vector<Entry> entries;
  };

  static Place place_of(const Sizes& sizes);
  std::size_t child_of(const Node& node, const Place& place) const;
  void split(std::size_t node);

  std::vector<Node> nodes_;
  std::size_t size_ = 0;
};

/// The values of some indexes, one after the other, the nearest first; at equal distances the one with the least m,
/// then n, then k. The indexes must not change meanwhile.
class NearestSizes {
 public:
  struct Hit {
    std::size_t value = 0;
    double distance = 0;
  };

  explicit NearestSizes(const Sizes& centre) : centre_(SizeIndex::place_of(centre)) {}

  void search(const SizeIndex& index);
  /// nullopt if there is none left.
  std::optional<Hit> next();
  /// The number of entries whose distance has been computed.
  std::size_t visited() const { return visited_; }

 private:
  /// A node, or an entry of a node. A node may hold entries that are nearer than those seen, so it comes before them.
  struct Step {
    double distance_squared = 0;
    const SizeIndex* index = nullptr;
    const SizeIndex::Node* node = nullptr;    ///< nullptr for an entry
    const SizeIndex::Entry* entry = nullptr;  ///< nullptr for a node
    bool operator<(const Step& other) const;  ///< comes later
  };

  void push_node(const SizeIndex& index, const SizeIndex::Node& node);

  SizeIndex::Place centre_;
  std::priority_queue<Step> steps_;
  std::size_t visited_ = 0;
};

}  // namespace hotgemm
