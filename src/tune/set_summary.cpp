#include "tune/set_summary.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

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

}  // namespace hotgemm
