#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace hotgemm {

/// Finds rows of levels, one level per factor, such that any two levels of two different factors occur together in some
/// row.
///
/// The search is greedy: a row starts with a pair that has not occurred yet, and gives each further factor the level
/// that adds the most new pairs. Several rows are tried, and the one with the most new pairs is kept. Equal arguments
/// give equal rows on every machine.
class PairwiseTable {
 public:
  /// `levels[f]` is the number of levels of factor f, at least 1. There must be at least two factors.
  PairwiseTable(std::vector<int> levels, unsigned seed) : levels_(std::move(levels)), random_(seed) {
    const std::size_t factors = levels_.size();
    met_.resize(factors * factors);
    left_.resize(factors * factors, 0);
    for (std::size_t f = 0; f < factors; ++f) {
      for (std::size_t g = f + 1; g < factors; ++g) {
        const auto pairs = static_cast<std::size_t>(levels_[f]) * static_cast<std::size_t>(levels_[g]);
        met_[f * factors + g].resize(pairs, 0);
        left_[f * factors + g] = static_cast<int>(pairs);
        total_left_ += static_cast<long>(pairs);
      }
    }
    while (total_left_ > 0) add_best_row();
  }

  const std::vector<std::vector<int>>& rows() const { return rows_; }

 private:
  static constexpr int kAttempts = 12;
  static constexpr int kUnset = -1;

  char& met(std::size_t f, int level_f, std::size_t g, int level_g) {
    if (f > g) return met(g, level_g, f, level_f);
    const std::size_t at = static_cast<std::size_t>(level_f) * static_cast<std::size_t>(levels_[g]);
    return met_[f * levels_.size() + g][at + static_cast<std::size_t>(level_g)];
  }

  /// The number of new pairs that `factor` at `level` forms with the levels in `row`.
  int gain(const std::vector<int>& row, std::size_t factor, int level) {
    int pairs = 0;
    for (std::size_t g = 0; g < row.size(); ++g) {
      if (g != factor && row[g] != kUnset && met(factor, level, g, row[g]) == 0) ++pairs;
    }
    return pairs;
  }

  int best_level(const std::vector<int>& row, std::size_t factor) {
    int best = 0, best_gain = -1, ties = 0;
    for (int level = 0; level < levels_[factor]; ++level) {
      const int pairs = gain(row, factor, level);
      if (pairs > best_gain) {
        best = level, best_gain = pairs, ties = 1;
      } else if (pairs == best_gain && random_() % static_cast<unsigned>(++ties) == 0) {
        best = level;
      }
    }
    return best;
  }

  std::vector<int> try_row() {
    const std::size_t factors = levels_.size();
    std::size_t most = 0;
    for (std::size_t pair = 0; pair < left_.size(); ++pair) {
      if (left_[pair] > left_[most]) most = pair;
    }
    std::size_t cell = random_() % met_[most].size();
    while (met_[most][cell] != 0) cell = (cell + 1) % met_[most].size();
    const std::size_t f = most / factors, g = most % factors;
    std::vector<int> row(factors, kUnset);
    row[f] = static_cast<int>(cell / static_cast<std::size_t>(levels_[g]));
    row[g] = static_cast<int>(cell % static_cast<std::size_t>(levels_[g]));
    std::vector<std::size_t> order;
    for (std::size_t factor = 0; factor < factors; ++factor) {
      if (row[factor] == kUnset) order.push_back(factor);
    }
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
    for (const std::size_t factor : order) row[factor] = best_level(row, factor);
    return row;
  }

  int total_gain(const std::vector<int>& row) {
    int pairs = 0;
    for (std::size_t factor = 0; factor < row.size(); ++factor) pairs += gain(row, factor, row[factor]);
    return pairs;  // each pair was counted twice
  }

  void add_best_row() {
    std::vector<int> best;
    int best_gain = -1;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::vector<int> row = try_row();
      const int pairs = total_gain(row);
      if (pairs > best_gain) best = std::move(row), best_gain = pairs;
    }
    const std::size_t factors = levels_.size();
    for (std::size_t f = 0; f < factors; ++f) {
      for (std::size_t g = f + 1; g < factors; ++g) {
        char& pair = met(f, best[f], g, best[g]);
        if (pair != 0) continue;
        pair = 1;
        --left_[f * factors + g];
        --total_left_;
      }
    }
    rows_.push_back(std::move(best));
  }

  std::vector<int> levels_;
  std::mt19937 random_;
  std::vector<std::vector<char>> met_;  // index f * factors + g with f < g; then by the levels of f and g
  std::vector<int> left_;               // pairs of two factors that have not occurred
  long total_left_ = 0;
  std::vector<std::vector<int>> rows_;
};

}  // namespace hotgemm
