#include "command/bench_report.hpp"

#include "base/statistics.hpp"
#include "command/problem_options.hpp"
#include "command/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace hotgemm::command {
namespace {

bool has_failed(const BenchResult& r) { return !r.failure.empty(); }

Table table_of(const BenchReport& report) {
  std::vector<Table::Column> columns{{"problem"}, {"mode"}, {"config"}, {"origin"}, {"µs", true}, {"TFLOP/s", true}};
  if (!report.ceilings.empty()) columns.push_back({"of ceiling", true});
  if (report.has_baseline) {
    for (const char* heading : {"cuBLAS µs", "best Lt µs"}) columns.push_back({heading, true});
    columns.push_back({"Lt algorithm"});
    for (const char* heading : {"ratio", "95 % interval"}) columns.push_back({heading, true});
    columns.push_back({"tie"});
  }
  Table table(columns);
  for (const BenchResult& r : report.results) {
    const bool failed = has_failed(r);
    std::vector<std::string> row{label(r.problem),
                                 failed ? "-" : std::string(to_string(r.mode)),
                                 r.ours.name.empty() ? "-" : r.ours.name,
                                 failed ? "failed" : r.origin,
                                 number(r.ours.median_us, 2),
                                 number(r.ours.tflops, 1)};
    if (!report.ceilings.empty()) {
      row.push_back(std::isfinite(r.of_ceiling) ? fmt::format("{:.3f} ({:.3f} to {:.3f})", r.of_ceiling,
                                                              r.of_ceiling_ci.low, r.of_ceiling_ci.high)
                                                : "-");
    }
    if (report.has_baseline) {
      row.insert(row.end(), {number(r.cublas_default.median_us, 2), number(r.best_lt.median_us, 2),
                             r.best_lt.name.empty() ? "-" : r.best_lt.name, number(r.ratio, 3),
                             failed ? "-" : fmt::format("{:.3f} to {:.3f}", r.ci.low, r.ci.high), r.tie ? "tie" : ""});
    }
    table.add(row);
  }
  return table;
}

/// Geometric means of the ratios, by mode. If there are two modes, also over all problems, with graph preferred where
/// it was measured.
std::vector<std::pair<std::string, double>> means(const BenchReport& report) {
  if (!report.has_baseline || !report.is_complete || report.failures() > 0) return {};
  std::map<std::string, std::vector<double>> by_mode;
  std::vector<std::pair<Problem, double>> preferred;
  for (const BenchResult& r : report.results) {
    by_mode[std::string(to_string(r.mode))].push_back(r.ratio);
    const auto same = [&](const auto& entry) { return entry.first == r.problem; };
    if (r.mode == TimingMode::graph) std::erase_if(preferred, same);
    if (std::ranges::none_of(preferred, same)) preferred.emplace_back(r.problem, r.ratio);
  }
  std::vector<std::pair<std::string, double>> result;
  for (const auto& [mode, ratios] : by_mode) {
    const std::string plural = ratios.size() == 1 ? "" : "s";
    result.emplace_back(fmt::format("{}, {} problem{}", mode, ratios.size(), plural), geometric_mean(ratios));
  }
  if (by_mode.size() > 1) {
    std::vector<double> ratios;
    for (const auto& [problem, ratio] : preferred) ratios.push_back(ratio);
    result.emplace_back(fmt::format("graph where measured, else eager, {} problems", ratios.size()),
                        geometric_mean(ratios));
  }
  return result;
}

std::vector<std::string> lines_above(const BenchReport& report) {
  std::vector<std::string> lines;
  if (report.failures() > 0) {
    lines.push_back(fmt::format("{} of {} rows could not be measured, so there is no mean:", report.failures(),
                                report.results.size()));
    for (const BenchResult& r : report.results) {
      if (has_failed(r)) lines.push_back(fmt::format("- {}: {}", label(r.problem), r.failure));
    }
  }
  if (!report.is_complete) lines.push_back("Interrupted before all problems were measured, so there is no mean.");
  return lines;
}

std::vector<std::string> lines_below(const BenchReport& report) {
  std::vector<std::string> lines;
  for (const auto& [what, mean] : means(report)) {
    lines.push_back(fmt::format("geometric mean of ratios ({}): {:.3f}", what, mean));
  }
  for (const CeilingAlone& c : report.ceilings) {
    lines.push_back(
        fmt::format("ceiling: {}; alone, before and after: f32 {:.1f} and {:.1f}, f16 {:.1f} and {:.1f} TFLOP/s",
                    c.name, c.f32_before, c.f32_after, c.f16_before, c.f16_after));
  }
  if (!report.ceilings.empty()) {
    lines.push_back(fmt::format("of ceiling: fraction of {}, median of paired ratios, rounds interleaved",
                                report.ceilings.front().name));
  }
  if (report.has_baseline) {
    lines.push_back("ratio: the baseline's time / ours, so above 1 ours is faster; the baseline is the faster of both");
  }
  return lines;
}

}  // namespace

std::size_t BenchReport::failures() const {
  return static_cast<std::size_t>(std::ranges::count_if(results, has_failed));
}

std::string to_text(const BenchReport& report) {
  std::string text;
  for (const std::string& line : lines_above(report)) text += line + "\n";
  text += table_of(report).text();
  for (const std::string& line : lines_below(report)) text += "\n" + line;
  return text;
}

std::string to_markdown(const BenchReport& report, const std::string& heading, const RunEnvironment& environment) {
  std::string text = "## " + heading + "\n\n" + to_markdown(environment) + "\n";
  for (const std::string& line : lines_above(report)) text += line + "\n";
  if (!lines_above(report).empty()) text += "\n";
  text += table_of(report).markdown() + "\n";
  for (const std::string& line : lines_below(report)) text += "\n" + line + "\n";
  return text;
}

void to_json(const BenchReport& report, Json& output) {
  output["failed"] = report.failures();
  output["results"] = Json::array();
  for (const BenchResult& r : report.results) {
    output["results"].push_back(Json::parse(hotgemm::to_json(r).dump()));
  }
  output["means"] = Json::array();
  for (const auto& [what, mean] : means(report)) output["means"].push_back({{"of", what}, {"ratio", mean}});
  for (const CeilingAlone& c : report.ceilings) {
    output["ceiling_alone_tflops"].push_back(
        {{"ceiling", c.name}, {"f32", {c.f32_before, c.f32_after}}, {"f16", {c.f16_before, c.f16_after}}});
  }
}

}  // namespace hotgemm::command
