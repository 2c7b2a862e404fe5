#include "command/quality_run.hpp"

#include "command/exhaustive_run.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/table.hpp"
#include "tune/quality.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm::command {
namespace {

std::string percent(double share) { return number(100 * share, 1); }

/// The regret with its interval, in percent: "1.2 (0.9 to 1.5)".
std::string regret_text(const AssessedChoice& pick) {
  if (!std::isfinite(pick.regret_ci.low) || !std::isfinite(pick.regret_ci.high)) return percent(pick.regret) + " (-)";
  return fmt::format("{} ({} to {})", percent(pick.regret), percent(pick.regret_ci.low), percent(pick.regret_ci.high));
}

Json pick_json(const AssessedChoice& pick) {
  return {{"config", pick.name.config}, {"launch", pick.name.launch},
          {"place", pick.place},        {"us", pick.us},
          {"regret", pick.regret},      {"regret_ci", {pick.regret_ci.low, pick.regret_ci.high}}};
}

void fill_row(const QualityResult& result, Json& row) {
  row["mode"] = std::string(to_string(result.mode));
  row["measure"] = std::string(to_string(result.measure));
  row["configs"] = result.configs;
  row["rejected"] = result.rejected;
  row["measured"] = result.measured;
  row["oracle"] = pick_json(result.oracle);
  row["tuned"] = pick_json(result.tuned);
  row["estimated"] = pick_json(result.estimated);
  row["model"] = Json::array();
  for (std::size_t i = 0; i < std::size(kModelTops); ++i) {
    row["model"].push_back({{"first", kModelTops[i]}, {"regret", result.model_regret[i]}});
  }
}

std::vector<Table::Column> columns() {
  std::vector<Table::Column> columns{{"problem"},
                                     {"measure"},
                                     {"configs", true},
                                     {"oracle µs", true},
                                     {"tuned: regret %", true},
                                     {"place", true},
                                     {"estimated: regret %", true},
                                     {"place", true}};
  for (const std::size_t count : kModelTops) columns.push_back({fmt::format("model's {}: %", count), true});
  return columns;
}

/// The measure of the times: "eager rounds", "graph rounds" or "sustained".
std::string measure_text(const QualityResult& r) {
  if (r.measure == Measure::sustained) return std::string(to_string(r.measure));
  return fmt::format("{} {}", to_string(r.mode), to_string(r.measure));
}

void add_row(const QualityResult& r, Table& table) {
  std::vector<std::string> cells{label(r.problem),          measure_text(r),
                                 std::to_string(r.configs), number(r.oracle.us, 2),
                                 regret_text(r.tuned),      std::to_string(r.tuned.place),
                                 regret_text(r.estimated),  std::to_string(r.estimated.place)};
  for (const double regret : r.model_regret) cells.push_back(percent(regret));
  table.add(std::move(cells));
}

/// A summary of all problems, with one line per kind of answer. A failed problem counts as NaN, so that there is no
/// mean.
class Summary {
 public:
  Summary() {
    answers_ = {{"tuned", {}}, {"estimated", {}}};
    for (const std::size_t count : kModelTops) answers_.push_back({fmt::format("model's {}", count), {}});
  }

  void add(const QualityResult& result) {
    answers_[0].second.push_back(result.tuned.regret);
    answers_[1].second.push_back(result.estimated.regret);
    for (std::size_t i = 0; i < std::size(kModelTops); ++i) answers_[2 + i].second.push_back(result.model_regret[i]);
  }
  void add_failure() {
    for (auto& [name, regrets] : answers_) regrets.push_back(std::numeric_limits<double>::quiet_NaN());
  }

  std::string text() const {
    Table table({{"of all problems"}, {"mean regret %", true}, {"worst %", true}, {"within 1 %: % of problems", true}});
    for (const auto& [name, regrets] : answers_) {
      const QualitySummary s = summarize(regrets);
      table.add({name, percent(s.mean), percent(s.worst), percent(s.within_1_percent)});
    }
    return table.text();
  }
  Json json() const {
    Json json = Json::array();
    for (const auto& [name, regrets] : answers_) {
      const QualitySummary s = summarize(regrets);
      json.push_back({{"of", name},
                      {"problems", regrets.size()},
                      {"mean_regret", s.mean},
                      {"worst_regret", s.worst},
                      {"within_1_percent", s.within_1_percent}});
    }
    return json;
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>> answers_;
};

}  // namespace

int run_quality(Session& session, std::span<const Workload> problems, const TuningOptions& tuning, int rounds,
                const MeasurerOptions& measuring) {
  ExhaustiveRun run(session, tuning, measuring);
  Table table(columns());
  Summary summary;
  const auto assess_one = [&](const Workload& problem, Json& row) {
    const ExhaustiveResult all = run.measure(problem);
    row["trace"] = run.trace_path();
    if (!all.is_complete) throw Error(ErrorCode::interrupted, "interrupted");
    const QualityOptions options{.tuning = run.tuning(), .rounds = rounds};
    const QualityResult result =
        assess(run.engine(), run.measurer(), problem, all, options, [] { return is_interrupted(); });
    fill_row(result, row);
    add_row(result, table);
    summary.add(result);
  };
  const auto visit = [&](const Workload& problem, Json& row) {
    try {
      assess_one(problem, row);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::interrupted) summary.add_failure();
      throw;
    }
  };
  const int code = for_each_problem(session, problems, visit);
  session.output["summary"] = summary.json();
  if (code == kInterrupted) session.note(run.interrupt_note());
  if (table.empty()) return code;
  session.print(table.text());
  session.print("\n" + summary.text());
  session.print(
      "\nregret: time / the oracle's time - 1, paired by rounds of a separate race, with its 95 % interval\n"
      "sustained: each ran alone; the oracle is the fastest alone of the 20 best in rounds, 20 others by the power "
      "model, and the tuner's pick\n"
      "the model's N: the fastest of the model's first N configs, by the times in the trace with default rasters");
  return code;
}

}  // namespace hotgemm::command
