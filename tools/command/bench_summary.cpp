#include "command/bench_summary.hpp"

#include "command/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hotgemm::command {
namespace {

Table table_of(std::span<const SetSummary> summaries) {
  const bool has_fused =
      std::ranges::any_of(summaries, [](const SetSummary& s) { return s.highest_over_bare.has_value(); });
  std::vector<Table::Column> columns({{"set"},
                                      {"problems", true},
                                      {"measure"},
                                      {"geometric mean", true},
                                      {"lowest problem"},
                                      {"ratio", true},
                                      {"95 % interval", true},
                                      {fmt::format("below {}", kLowRatio), true},
                                      {"failures", true}});
  if (has_fused) columns.insert(columns.end(), {{"over bare", true}, {"highest problem"}, {"over bare there", true}});
  Table table(columns);
  for (const SetSummary& s : summaries) {
    const bool has_ratio = s.lowest.has_value();
    std::vector<std::string> row{s.name,
                                 std::to_string(s.problems),
                                 s.measure,
                                 number(s.mean, 3),
                                 has_ratio ? label(*s.lowest) : "-",
                                 number(s.lowest_ratio, 3),
                                 to_string(s.lowest_ci),
                                 std::to_string(s.below),
                                 std::to_string(s.failures)};
    if (has_fused) {
      row.insert(row.end(), {number(s.over_bare, 3), s.highest_over_bare ? label(*s.highest_over_bare) : "-",
                             number(s.highest_ratio_over_bare, 3)});
    }
    table.add(row);
  }
  return table;
}

std::string lines_above(std::span<const SetSummary> summaries) {
  std::string text;
  for (const SetSummary& s : summaries) {
    if (s.failures > 0) {
      text +=
          fmt::format("{}: {} of {} problems could not run, so there is no mean.\n", s.name, s.failures, s.problems);
    }
    if (s.missing > 0) {
      text +=
          fmt::format("{}: {} of {} problems were not measured, so there is no mean.\n", s.name, s.missing, s.problems);
    }
  }
  return text;
}

}  // namespace

std::vector<SetSummary> summary_of(std::span<const ProblemSet> sets, std::span<const BenchResult> results) {
  std::vector<SetSummary> summaries;
  for (const ProblemSet& set : sets) summaries.push_back(hotgemm::summary_of(set.name, set.problems, results));
  return summaries;
}

std::string to_text(std::span<const SetSummary> summaries) {
  return lines_above(summaries) + table_of(summaries).text();
}

std::string to_markdown(std::span<const SetSummary> summaries) {
  const std::string above = lines_above(summaries);
  return above + (above.empty() ? "" : "\n") + table_of(summaries).markdown();
}

Json to_json(std::span<const SetSummary> summaries) {
  const auto known = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json json = Json::array();
  for (const SetSummary& s : summaries) {
    json.push_back({{"set", s.name},
                    {"problems", s.problems},
                    {"measure", s.measure},
                    {"mean", known(s.mean)},
                    {"lowest", s.lowest ? Json(to_string(*s.lowest)) : Json()},
                    {"lowest_ratio", known(s.lowest_ratio)},
                    {"lowest_ci", {known(s.lowest_ci.low), known(s.lowest_ci.high)}},
                    {"over_bare", known(s.over_bare)},
                    {"highest_over_bare", s.highest_over_bare ? Json(to_string(*s.highest_over_bare)) : Json()},
                    {"highest_ratio_over_bare", known(s.highest_ratio_over_bare)},
                    {"below", s.below},
                    {"failures", s.failures},
                    {"missing", s.missing}});
  }
  return json;
}

}  // namespace hotgemm::command
