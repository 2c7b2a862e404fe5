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
double tflops_of(const TuningRecord& record) { return timed_tflops(record.problem, record.timing.median_us); }

bool is_for_energy(const ProblemResult& r) { return r.record && r.record->objective == Objective::energy; }

std::string millijoules(const TuningRecord& record) { return number(record.joules * 1e3, 2); }

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

Json to_json(const CublasComparison& cublas) {
  if (cublas.version.empty()) return {};
  return {{"version", cublas.version},
          {"algorithm", cublas.algorithm.empty() ? Json() : Json(cublas.algorithm)},
          {"ratio", cublas.ratio > 0 ? Json(cublas.ratio) : Json()},
          {"default_ratio", cublas.default_ratio > 0 ? Json(cublas.default_ratio) : Json()}};
}

Json to_json(const ProblemResult& r) {
  Json json{{"problem", to_string(r.problem)},
            {"config", r.record ? to_string(r.record->config) : ""},
            {"launch", r.record ? to_string(r.record->launch) : ""},
            {"origin", to_string(r.status)}};
  if (r.record) {
    json["measured_m"] = r.record->problem.m;
    json["median_us"] = r.record->timing.median_us;
    json["tflops"] = tflops_of(*r.record);
    json["ratio"] = number_json(r.ratio);
    json["baseline"] = r.baseline;
    json["baseline_us"] = number_json(r.baseline_us);
  }
  if (r.record) {
    json["objective"] = to_string(r.record->objective);
    json["joules"] = r.record->joules > 0 ? Json(r.record->joules) : Json();
    json["of_fastest"] = number_json(r.of_fastest);
    json["cublas"] = to_json(r.record->cublas);
    if (!r.cublas_failure.empty()) json["cublas_failure"] = r.cublas_failure;
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
  output["results"] = Json::array();
  for (const ProblemResult& result : report.results) output["results"].push_back(to_json(result));
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
  if (is_for_energy(r)) text += fmt::format("{} mJ, ", millijoules(*r.record));
  if (r.status == TuneStatus::recorded) return text + "recorded";
  if (is_for_energy(r) && std::isfinite(r.of_fastest)) text += fmt::format("{:.3f} of the fastest, ", r.of_fastest);
  if (std::isfinite(r.ratio)) text += fmt::format("{:.3f} of cuBLAS, ", r.ratio);
  if (r.status == TuneStatus::partial) text += "partial, ";
  return text + fmt::format("{} measured, {:.1f} s", r.measured, seconds(r));
}

namespace {

/// The ratio that the record keeps, or else that of the last race.
std::string of_cublas(const ProblemResult& r) {
  if (!r.record) return "-";
  const CublasComparison& cublas = r.record->cublas;
  return number(cublas.version.empty() ? r.ratio : best_known_ratio(cublas), 3);
}

/// The problem, and the m that was measured for it (largest_of_class).
std::string measured_label(const ProblemResult& r) {
  const bool is_another = r.record && r.record->problem.m != r.problem.m;
  return label(r.problem) + (is_another ? fmt::format(", as m = {}", r.record->problem.m) : "");
}

std::vector<std::string> result_row(const ProblemResult& r, bool with_energy) {
  const bool is_measured = r.record && r.status != TuneStatus::recorded;
  std::vector<std::string> row{label(r.problem), "failed", "-", "-", "-"};
  if (r.record) {
    row = {measured_label(r), to_string(r.record->config), to_string(r.record->launch),
           number(r.record->timing.median_us, 1), number(tflops_of(*r.record), 1)};
  }
  if (with_energy) {
    const bool is_known = is_for_energy(r);
    row.insert(row.end(), {is_known ? millijoules(*r.record) : "-", is_known ? number(r.of_fastest, 3) : "-"});
  }
  row.insert(row.end(), {of_cublas(r), std::string(to_string(r.status)), is_measured ? std::to_string(r.measured) : "-",
                         is_measured || !r.record ? std::to_string(r.rejections.size()) : "-", number(seconds(r), 1)});
  return row;
}

}  // namespace

std::string results_table(const TuningReport& report) {
  const bool with_energy = std::ranges::any_of(report.results, is_for_energy);
  std::vector<Table::Column> columns{{"problem"}, {"config"}, {"launch"}, {"µs", true}, {"TFLOP/s", true}};
  if (with_energy) columns.insert(columns.end(), {{"mJ", true}, {"of fastest", true}});
  columns.insert(columns.end(),
                 {{"of cuBLAS", true}, {"origin"}, {"measured", true}, {"rejected", true}, {"seconds", true}});
  Table table(columns);
  for (const ProblemResult& r : report.results) table.add(result_row(r, with_energy));
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
