#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace hotgemm {

/// Indexes of things that have a text each, found by their texts. It is an open-addressed array of eight bytes for a
/// cell, which doubles when it is three quarters full. The texts lie elsewhere: `text_of(index)` returns them, and is
/// called where hashes are equal.
class TextTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::size_t size() const { return size_; }

  /// Makes room for `count` texts.
  void reserve(std::size_t count) {
    std::size_t cells = kLeastCells;
    while (count > most_in(cells)) cells *= 2;
    if (cells > cells_.size()) rehash(cells);
  }

  /// The index whose text is `text`, or kNone.
  template <class TextOf>
  std::uint32_t find(std::string_view text, const TextOf& text_of) const {
    return cells_.empty() ? kNone : cells_[cell_of(text, hash_of(text), text_of)].index;
  }

  /// The index whose text is `text`. If there is none, `index` becomes it.
  template <class TextOf>
  std::uint32_t find_or_add(std::string_view text, std::uint32_t index, const TextOf& text_of) {
    if (size_ == most_in(cells_.size())) reserve(size_ + 1);
    const std::uint32_t hash = hash_of(text);
    Cell& cell = cells_[cell_of(text, hash, text_of)];
    if (cell.index != kNone) return cell.index;
    cell = {hash, index};
    ++size_;
    return index;
  }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t index = kNone;  ///< kNone: the cell is free
  };
  static constexpr std::size_t kLeastCells = 16;

  static constexpr std::size_t most_in(std::size_t cells) { return cells / 4 * 3; }
  /// Takes eight bytes at once: for texts of some 30 bytes by a third of the instructions of std::hash.
  static std::uint32_t hash_of(std::string_view text) {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    std::uint64_t hash = text.size(), word = 0;
    const auto mix = [&](const char* from, std::size_t bytes) {
      std::memcpy(&word, from, bytes);
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    };
    for (std::size_t at = 0; at + kBytes < text.size(); at += kBytes) mix(text.data() + at, kBytes);
    if (text.size() < kBytes) {
      mix(text.data(), text.size());
    } else {
      mix(text.data() + text.size() - kBytes, kBytes);
    }
    return static_cast<std::uint32_t>(hash);
  }

  /// The cell with `text`, or else the free one in which it would lie.
  template <class TextOf>
  std::size_t cell_of(std::string_view text, std::uint32_t hash, const TextOf& text_of) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = hash & mask;
    while (cells_[at].index != kNone && (cells_[at].hash != hash || text_of(cells_[at].index) != text)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void rehash(std::size_t count) {
    std::vector<Cell> cells(count);
    for (const Cell& cell : cells_) {
      if (cell.index == kNone) continue;
      std::size_t at = cell.hash & (count - 1);
      while (cells[at].index != kNone) at = (at + 1) & (count - 1);
      cells[at] = cell;
    }
    cells_ = std::move(cells);
  }

  std::vector<Cell> cells_;  ///< a power of two, or none
  std::size_t size_ = 0;
};

}  // namespace hotgemm
