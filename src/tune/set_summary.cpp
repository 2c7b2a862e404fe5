#include "tune/set_summary.hpp"

#include "base/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace hotgemm {
namespace {

/// The result that counts for `problem`; nullptr if it was not measured.
const BenchResult* result_of(const Workload& problem, std::span<const BenchResult> results) {
  const BenchResult* found = nullptr;
  for (const BenchResult& r : results) {
    if (r.problem != problem) continue;
    if (found == nullptr || r.mode == TimingMode::graph) found = &r;
  }
  return found;
}

std::string measure_of(const BenchResult& r) {
  return std::string(r.mode == TimingMode::graph ? "graph " : "") + std::string(to_string(r.measure));
}

/// "sustained", or with the number of problems if there are several: "rounds 3, sustained 7".
std::string text_of(const std::map<std::string, int>& measures) {
  if (measures.size() == 1) return measures.begin()->first;
  std::string text;
  for (const auto& [name, count] : measures) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text.empty() ? "-" : text;
}

}  // namespace

bool is_low(const BenchResult& result) {
  const bool is_wide = !(result.ci.high - result.ci.low <= kWideInterval);
  return (is_wide ? result.ratio : result.ci.high) < kLowRatio;
}

SetSummary summary_of(std::string name, std::span<const Workload> problems, std::span<const BenchResult> results) {
  SetSummary summary{.name = std::move(name), .problems = problems.size()};
  std::map<std::string, int> measures;
  std::vector<double> ratios, over_bare;
  for (const Workload& problem : problems) {
    const BenchResult* r = result_of(problem, results);
    if (r == nullptr) {
      ++summary.missing;
      continue;
    }
    if (!r->failure.empty()) {
      ++summary.failures;
      continue;
    }
    const bool has_ratio = !std::isnan(r->ratio), has_bare = !std::isnan(r->over_bare);
    if (has_ratio || has_bare) ++measures[measure_of(*r)];
    if (has_bare) {
      over_bare.push_back(r->over_bare);
      if (!(r->over_bare <= summary.highest_ratio_over_bare)) {
        summary.highest_over_bare = problem;
        summary.highest_ratio_over_bare = r->over_bare;
      }
    }
    if (!has_ratio) continue;  // cuBLAS has no such product
    ratios.push_back(r->ratio);
    summary.below += is_low(*r) ? 1 : 0;
    if (summary.lowest && r->ratio >= summary.lowest_ratio) continue;
    summary.lowest = problem;
    summary.lowest_ratio = r->ratio;
    summary.lowest_ci = r->ci;
  }
  summary.measure = text_of(measures);
  if (summary.failures > 0 || summary.missing > 0) return summary;
  summary.mean = geometric_mean(ratios);
  summary.over_bare = geometric_mean(over_bare);
  return summary;
}

std::vector<std::pair<std::string, double>> means_by_mode(std::span<const BenchResult> results) {
  std::map<std::string, std::vector<double>> by_mode;
  std::vector<std::pair<Workload, double>> preferred;  // workloads: one problem may be there with several alignments
  for (const BenchResult& r : results) {
    if (!std::isfinite(r.ratio)) continue;  // cuBLAS has no such product
    by_mode[std::string(to_string(r.mode))].push_back(r.ratio);
    const auto same = [&](const auto& entry) { return entry.first == r.problem; };
    if (r.mode == TimingMode::graph) std::erase_if(preferred, same);
    if (std::ranges::none_of(preferred, same)) preferred.emplace_back(r.problem, r.ratio);
  }
  std::vector<std::pair<std::string, double>> means;
  for (const auto& [mode, ratios] : by_mode) {
    const std::string plural = ratios.size() == 1 ? "" : "s";
    means.emplace_back(fmt::format("{}, {} problem{}", mode, ratios.size(), plural), geometric_mean(ratios));
  }
  if (by_mode.size() > 1) {
    std::vector<double> ratios;
    for (const auto& [problem, ratio] : preferred) ratios.push_back(ratio);
    means.emplace_back(fmt::format("graph where measured, else eager, {} problems", ratios.size()),
                       geometric_mean(ratios));
  }
  return means;
}

}  // namespace hotgemm
