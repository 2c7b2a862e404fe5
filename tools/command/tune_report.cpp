#include "command/tune_report.hpp"

#include "command/problem_options.hpp"
#include "command/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace hotgemm::command {
namespace {

using Counts = std::vector<std::pair<std::string, std::size_t>>;

double seconds(const ProblemResult& r) { return r.compile_s + r.measure_s; }

/// TFLOP/s of the problem that was timed. It may be another problem of the class.
double tflops_of(const TuningRecord& record) { return tflops(record.problem, record.timing.median_us); }

std::string in_words(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The number of rejected candidates for each kind of reason, the most frequent first.
Counts rejections_by_kind(const TuningReport& report) {
  std::map<std::string, std::size_t> counts;
  for (const ProblemResult& r : report.results) {
    for (const Rejection& rejection : r.rejections) ++counts[std::string(kind_of(rejection.reason))];
  }
  Counts sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Counts::value_type::second);
  return sorted;
}

std::string_view word(RunEnd end) {
  switch (end) {
    case RunEnd::complete: return "complete";
    case RunEnd::cancelled: return "cancelled";
    case RunEnd::out_of_time: return "out_of_time";
    case RunEnd::out_of_trials: return "out_of_trials";
    case RunEnd::out_of_gpus: return "out_of_gpus";
  }
  return "?";
}

std::string_view why(RunEnd end) {
  switch (end) {
    case RunEnd::complete: break;
    case RunEnd::cancelled: return "interrupted";
    case RunEnd::out_of_time: return "--run-budget is used up";
    case RunEnd::out_of_trials: return "--trials are used up";
    case RunEnd::out_of_gpus: return "no GPU is left";
  }
  return "";
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Json to_json(const ProblemResult& r) {
  Json json{{"problem", to_string(r.problem)},
            {"config", r.record ? to_string(r.record->config) : ""},
            {"launch", r.record ? to_string(r.record->launch) : ""},
            {"origin", to_string(r.status)}};
  if (r.record) {
    json["median_us"] = r.record->timing.median_us;
    json["tflops"] = tflops_of(*r.record);
    json["ratio"] = number_json(r.ratio);
    json["baseline"] = r.baseline;
    json["baseline_us"] = number_json(r.baseline_us);
  }
  json["measured"] = r.measured;
  json["seconds"] = seconds(r);
  json["compile_seconds"] = r.compile_s;
  json["measure_seconds"] = r.measure_s;
  json["was_recorded"] = r.status == TuneStatus::recorded;
  if (r.record) json["measure"] = to_string(r.record->measure);
  json["gpu"] = r.gpu >= 0 ? Json(r.gpu) : Json(nullptr);
  json["rejections"] = Json::array();
  for (const Rejection& rejection : r.rejections) {
    json["rejections"].push_back(
        {{"config", rejection.config}, {"stage", rejection.stage}, {"reason", rejection.reason}});
  }
  if (!r.failure.empty()) json["failure"] = r.failure;
  return json;
}

void add_to_json(const TuningReport& report, Json& output) {
  output["ended"] = word(report.end);
  output["left"] = report.left;
  output["trials"] = report.trials;
  output["restarts"] = report.restarts;
  output["seconds"] = report.seconds;
  output["rejected"] = Json::object();
  for (const auto& [kind, count] : rejections_by_kind(report)) output["rejected"][kind] = count;
}

std::string summary(const ProblemResult& r) {
  if (!r.record) return "failed";
  std::string text = fmt::format("{} {}, {:.1f} us, {:.1f} TFLOP/s, ", to_string(r.record->config),
                                 to_string(r.record->launch), r.record->timing.median_us, tflops_of(*r.record));
  if (r.status == TuneStatus::recorded) return text + "recorded";
  if (std::isfinite(r.ratio)) text += fmt::format("{:.3f} of cuBLAS, ", r.ratio);
  if (r.status == TuneStatus::partial) text += "partial, ";
  return text + fmt::format("{} measured, {:.1f} s", r.measured, seconds(r));
}

std::string results_table(const TuningReport& report) {
  Table table({{"problem"},
               {"config"},
               {"launch"},
               {"µs", true},
               {"TFLOP/s", true},
               {"of cuBLAS", true},
               {"origin"},
               {"measured", true},
               {"rejected", true},
               {"seconds", true}});
  for (const ProblemResult& r : report.results) {
    if (!r.record) {
      table.add({label(r.problem), "failed", "-", "-", "-", "-", "failed", "-", std::to_string(r.rejections.size()),
                 number(seconds(r), 1)});
      continue;
    }
    const bool is_measured = r.status != TuneStatus::recorded;
    table.add({label(r.problem), to_string(r.record->config), to_string(r.record->launch),
               number(r.record->timing.median_us, 1), number(tflops_of(*r.record), 1), number(r.ratio, 3),
               std::string(to_string(r.status)), is_measured ? std::to_string(r.measured) : "-",
               is_measured ? std::to_string(r.rejections.size()) : "-", number(seconds(r), 1)});
  }
  return table.text();
}

std::string rejections_table(const TuningReport& report) {
  Table table({{"problem"}, {"rejected"}, {"stage"}, {"reason"}});
  for (const ProblemResult& r : report.results) {
    for (const Rejection& rejection : r.rejections) {
      table.add({label(r.problem), rejection.config, rejection.stage,
                 rejection.reason.substr(0, rejection.reason.find('\n'))});
    }
  }
  return table.empty() ? std::string() : table.text();
}

std::string run_summary(const TuningReport& report) {
  std::string rejected;
  for (const auto& [kind, count] : rejections_by_kind(report)) {
    rejected += fmt::format("{}{} {}", rejected.empty() ? "" : " · ", kind, count);
  }
  std::string text = rejected.empty() ? "" : "rejected: " + rejected + "\n";
  const std::size_t done = report.results.size();
  text += fmt::format("{} in {:.1f} s", in_words(done, "problem"), report.seconds);
  if (done > 0 && report.seconds > 0) {
    const double rate = static_cast<double>(done) / report.seconds;
    text += fmt::format(", {:.3g} per second", rate);
  }
  if (report.restarts > 0) {
    text += fmt::format("; {} of the worker", in_words(static_cast<std::size_t>(report.restarts), "restart"));
  }
  if (report.left > 0) {
    text += fmt::format("\n{} left because {}; use --resume to continue",
                        in_words(static_cast<std::size_t>(report.left), "problem"), why(report.end));
  }
  return text;
}

}  // namespace hotgemm::command
