#include "command/bench_report.hpp"

#include "base/statistics.hpp"
#include "command/problem_options.hpp"
#include "command/table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hotgemm::command {
namespace {

bool has_failed(const BenchResult& r) { return !r.failure.empty(); }

bool has_blocks(const BenchReport& report) {
  return std::ranges::any_of(report.results, [](const BenchResult& r) { return r.ours.blocks.has_value(); });
}

bool has_other_measure(const BenchReport& report) {
  return std::ranges::any_of(report.results, [](const BenchResult& r) { return r.other.has_value(); });
}

bool has_fused(const BenchReport& report) {
  return std::ranges::any_of(report.results, [](const BenchResult& r) { return !r.bare.name.empty(); });
}

/// "1.008 (1.004 to 1.011)", with the other kernel's config if it is not ours.
std::string over_bare(const BenchResult& r) {
  if (!std::isfinite(r.over_bare)) return "-";
  const std::string other = r.bare.name == r.ours.name ? "" : " of " + r.bare.name;
  return fmt::format("{:.3f} ({}){}", r.over_bare, to_string(r.over_bare_ci), other);
}

/// The side that the ratio compares ours with.
const BenchSide& baseline_of(const BenchResult& r) {
  return r.best_lt.name == r.baseline ? r.best_lt : r.cublas_default;
}

/// "1390 / 1450": ours and the baseline's. "unknown" if the driver does not tell.
std::string both(const BenchResult& r, double ClockState::*value) {
  if (!r.ours.blocks) return "-";
  const auto text = [&](const BenchSide& side) {
    const double v = side.blocks ? side.blocks->clock.*value : 0;
    return v > 0 ? number(v, 0) : std::string("unknown");
  };
  if (!baseline_of(r).blocks) return text(r.ours);
  return text(r.ours) + " / " + text(baseline_of(r));
}

/// The limits of the clock of either side, and the number of blocks that were not steady.
std::string limits(const BenchResult& r) {
  if (!r.ours.blocks) return "-";
  std::uint64_t reasons = 0;
  int samples = 0, unsteady = 0;
  for (const BenchSide* side : {&r.ours, &r.bare, &r.cublas_default, &r.best_lt}) {
    if (!side->blocks) continue;
    reasons |= side->blocks->clock.reasons;
    samples += side->blocks->clock.samples;
    unsteady += side->blocks->unsteady;
  }
  const std::string text = samples > 0 ? throttle_text(reasons) : "unknown";
  return unsteady == 0 ? text : fmt::format("{}; {} unsteady block{}", text, unsteady, unsteady == 1 ? "" : "s");
}

std::string other_measure(const BenchResult& r) {
  if (!r.other) return "-";
  const OtherMeasure& other = *r.other;
  return fmt::format("{} {:.3f} ({})", to_string(other.measure), other.ratio, to_string(other.ci));
}

/// Says how many baselines are kept choices; empty if none is.
std::string kept_choices(const BenchReport& report) {
  std::size_t kept = 0;
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  for (const BenchResult& r : report.results) {
    if (r.choice_kept_since == 0) continue;
    ++kept;
    oldest = std::min(oldest, r.choice_kept_since);
  }
  if (kept == 0) return {};
  return fmt::format(
      "kept choice of cuBLAS's algorithm in {} of {} results, the oldest of {:%Y-%m-%d %H:%M} UTC; --fresh-cublas "
      "chooses again",
      kept, report.results.size(), fmt::gmtime(oldest));
}

Table table_of(const BenchReport& report) {
  std::vector<Table::Column> columns{{"problem"}, {"mode"}, {"config"}, {"origin"}, {"µs", true}, {"TFLOP/s", true}};
  if (!report.ceilings.empty()) columns.push_back({"of ceiling", true});
  if (has_fused(report)) {
    for (const char* heading : {"bare µs", "over bare"}) columns.push_back({heading, true});
  }
  if (report.has_baseline) {
    for (const char* heading : {"cuBLAS µs", "best Lt µs"}) columns.push_back({heading, true});
    columns.push_back({"Lt algorithm"});
    columns.push_back({"measure"});
    for (const char* heading : {"ratio", "95 % interval"}) columns.push_back({heading, true});
    columns.push_back({"tie"});
  }
  if (has_blocks(report)) {
    columns.push_back({"MHz", true});
    columns.push_back({"W", true});
    columns.push_back({"limited by"});
  }
  if (has_other_measure(report)) columns.push_back({"other measure"});
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
      row.push_back(std::isfinite(r.of_ceiling) ? fmt::format("{:.3f} ({})", r.of_ceiling, to_string(r.of_ceiling_ci))
                                                : "-");
    }
    if (has_fused(report)) row.insert(row.end(), {number(r.bare.median_us, 2), over_bare(r)});
    if (report.has_baseline) {
      row.insert(row.end(),
                 {number(r.cublas_default.median_us, 2), number(r.best_lt.median_us, 2),
                  r.best_lt.name.empty() ? "-" : r.best_lt.name, failed ? "-" : std::string(to_string(r.measure)),
                  number(r.ratio, 3), to_string(r.ci), r.tie && std::isfinite(r.ci.low) ? "tie" : ""});
    }
    if (has_blocks(report)) {
      row.insert(row.end(), {both(r, &ClockState::mhz), both(r, &ClockState::watts), limits(r)});
    }
    if (has_other_measure(report)) row.push_back(other_measure(r));
    table.add(row);
  }
  return table;
}

/// Nothing if not all problems were measured.
std::vector<std::pair<std::string, double>> means(const BenchReport& report) {
  if (!report.has_baseline || !report.is_complete() || report.failures() > 0) return {};
  return means_by_mode(report.results);
}

/// The geometric mean of the times over those of the bare products; NaN if not all problems were measured.
double mean_over_bare(const BenchReport& report) {
  if (!report.is_complete() || report.failures() > 0) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> ratios;
  for (const BenchResult& r : report.results) {
    if (!r.bare.name.empty()) ratios.push_back(r.over_bare);
  }
  return geometric_mean(ratios);
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
  if (!report.is_complete()) {
    lines.push_back(fmt::format("Interrupted; left: {}, so there is no mean.", in_words(report.left, "problem")));
  }
  return lines;
}

std::vector<std::string> lines_below(const BenchReport& report) {
  std::vector<std::string> lines;
  for (const auto& [what, mean] : means(report)) {
    lines.push_back(fmt::format("geometric mean of ratios ({}): {:.3f}", what, mean));
  }
  if (has_fused(report)) {
    if (const double mean = mean_over_bare(report); std::isfinite(mean)) {
      lines.push_back(fmt::format("geometric mean over bare: {:.3f}", mean));
    }
    lines.push_back(
        "over bare: the time with the epilogue / that of our kernel for the bare product, side by side; below 1.02 is "
        "the goal");
  }
  for (const CeilingAlone& c : report.ceilings) {
    std::string rates;
    for (std::size_t i = 0; i < c.before.size(); ++i)
      rates += fmt::format("{}{}{} {:.1f} and {:.1f}", i > 0 ? ", " : "", i < 2 ? "f16>" : "", c.before[i].first,
                           c.before[i].second, c.after[i].second);
    lines.push_back(fmt::format("ceiling: {}; alone, before and after: {} TFLOP/s", c.name, rates));
  }
  if (!report.ceilings.empty()) {
    lines.push_back(fmt::format("of ceiling: fraction of {}, median of paired ratios, rounds interleaved",
                                report.ceilings.front().name));
  }
  if (report.has_baseline) {
    lines.push_back("ratio: the baseline's time / ours, so above 1 ours is faster; the baseline is the faster of both");
    const auto unknown = [](const BenchResult& r) { return r.failure.empty() && r.power == PowerVerdict::unknown; };
    if (report.asked_power && std::ranges::any_of(report.results, unknown)) {
      lines.push_back("NVML does not say whether the power cap limits the clock, so rounds decide");
    }
  }
  if (const std::string kept = kept_choices(report); !kept.empty()) lines.push_back(kept);
  const auto is_behind = [](const BenchResult& r) {
    return r.measure == Measure::behind || (r.other && r.other->measure == Measure::behind);
  };
  if (std::ranges::any_of(report.results, is_behind)) {
    lines.push_back(
        "rounds behind a kernel: every launch of all sides follows a foreign kernel, whose time is taken off");
    if (!report.ceilings.empty()) lines.push_back("of ceiling: in chains of each side alone");
  }
  if (has_blocks(report)) {
    const BlockLengths block;
    lines.push_back(fmt::format(
        "sustained: each side alone, in blocks of {} s, of which {:.1f} s count; MHz and W: medians, ours / "
        "the baseline's",
        block_seconds(block), block.counted_s));
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
  if (!report.summary.empty()) text += "\n\n" + to_text(report.summary);
  return text;
}

std::string to_markdown(const BenchReport& report, const std::string& heading, const RunEnvironment& environment) {
  std::string text = "## " + heading + "\n\n" + to_markdown(environment) + "\n";
  for (const std::string& line : lines_above(report)) text += line + "\n";
  if (!lines_above(report).empty()) text += "\n";
  text += table_of(report).markdown() + "\n";
  for (const std::string& line : lines_below(report)) text += "\n" + line + "\n";
  if (!report.summary.empty()) text += "\n" + to_markdown(report.summary) + "\n";
  return text;
}

void to_json(const BenchReport& report, Json& output) {
  output["failed"] = report.failures();
  output["left"] = report.left;
  output["results"] = Json::array();
  for (const BenchResult& r : report.results) {
    Json json = Json::parse(hotgemm::to_json(r).dump());
    json["config"] = r.ours.name;
    json["median_us"] = r.ours.median_us;
    json["tflops"] = r.ours.tflops;
    output["results"].push_back(std::move(json));
  }
  if (!report.summary.empty()) output["summary"] = to_json(report.summary);
  output["means"] = Json::array();
  for (const auto& [what, mean] : means(report)) output["means"].push_back({{"of", what}, {"ratio", mean}});
  if (has_fused(report)) output["mean_over_bare"] = mean_over_bare(report);
  for (const CeilingAlone& c : report.ceilings) {
    Json alone{{"ceiling", c.name}};
    for (std::size_t i = 0; i < c.before.size(); ++i)
      alone[c.before[i].first] = {c.before[i].second, c.after[i].second};
    output["ceiling_alone_tflops"].push_back(std::move(alone));
  }
}

}  // namespace hotgemm::command
