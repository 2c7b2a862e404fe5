#include "command/size_ranges.hpp"

#include "base/text.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace hotgemm::command {
namespace {

[[noreturn]] void bad(const std::string& text, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, in_quotes(text) + ": " + why);
}

/// "512", "256:16384:256" or "1024:16384:*2".
std::vector<std::int64_t> values_of(const std::string& word, const std::string& text) {
  const std::vector<std::string> parts = CLI::detail::split(word, ':');
  if (parts.size() == 1) return {parse_size(word, "a size of " + in_quotes(text))};
  if (parts.size() != 3) bad(text, "a range is FIRST:LAST:STEP, as in 256:16384:256, or FIRST:LAST:*FACTOR");
  const bool is_geometric = parts[2].starts_with('*');
  const std::int64_t first = parse_size(parts[0], "FIRST");
  const std::int64_t last = parse_size(parts[1], "LAST");
  const std::int64_t step = parse_size(parts[2].substr(is_geometric ? 1 : 0), is_geometric ? "FACTOR" : "STEP");
  if (first < 1 || last < first) bad(text, "a range goes from 1 or more upwards");
  if (step < (is_geometric ? 2 : 1)) bad(text, "a step is at least 1, and a factor at least 2");
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value = is_geometric ? value * step : value + step) {
    values.push_back(value);
    if (values.size() > kMostSizes) bad(text, fmt::format("more than {} sizes", kMostSizes));
  }
  return values;
}

}  // namespace

std::vector<Sizes> parse_size_ranges(const std::string& text) {
  if (text.find(':') == std::string::npos) return {parse_sizes(text)};
  std::vector<Sizes> all;
  std::string marked = text;
  std::ranges::replace(marked, 'X', 'x');  // parse_sizes takes both
  const std::vector<std::string> words = CLI::detail::split(marked, 'x');
  if (words.size() == 1) {
    for (const std::int64_t size : values_of(text, text)) all.push_back({size, size, size});
    return all;
  }
  if (words.size() != 3) bad(text, "expected three sizes or ranges MxNxK, or one range of squares");
  const std::vector<std::int64_t> ms = values_of(words[0], text);
  const std::vector<std::int64_t> ns = values_of(words[1], text);
  const std::vector<std::int64_t> ks = values_of(words[2], text);
  if (ms.size() * ns.size() * ks.size() > kMostSizes) bad(text, fmt::format("more than {} sizes", kMostSizes));
  for (const std::int64_t m : ms) {
    for (const std::int64_t n : ns) {
      for (const std::int64_t k : ks) all.push_back({m, n, k});
    }
  }
  return all;
}

}  // namespace hotgemm::command
