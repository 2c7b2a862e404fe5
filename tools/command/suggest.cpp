#include "command/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hotgemm::command {
namespace {

/// The least number of letters to change, add, remove or exchange with a neighbour to get from `a` to `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> words) {
  const auto begins = [&](const std::string& one) { return !word.empty() && one.starts_with(word); };
  if (std::ranges::count_if(words, begins) == 1) return *std::ranges::find_if(words, begins);
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
  std::size_t least = most + 1;
  std::string best;
  for (const std::string& one : words) {
    const std::size_t its = distance(word, one);
    if (its > least || its > most) continue;
    best = its < least ? one : "";  // two that are as near: neither
    least = its;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> words) {
  const std::string meant = closest(word, words);
  return meant.empty() ? "" : "; did you mean " + meant + "?";
}

}  // namespace hotgemm::command
