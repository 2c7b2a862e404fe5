#include "command/comparison_run.hpp"

#include "command/exhaustive_run.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/table.hpp"
#include "tune/comparison.hpp"

#include <fmt/format.h>

#include <string>

namespace hotgemm::command {
namespace {

Json config_json(const ComparedConfig& c) {
  return {{"config", c.config},
          {"launch", c.launch},
          {"rounds_us", c.rounds_us},
          {"sustained_us", c.sustained_us},
          {"mhz", c.blocks.clock.mhz},
          {"watts", c.blocks.clock.watts},
          {"unsteady_blocks", c.blocks.unsteady}};
}

void fill_row(const Comparison& comparison, Json& row) {
  row["rank_correlation"] = comparison.rank_correlation;
  row["configs"] = Json::array();
  for (const ComparedConfig& c : comparison.configs) row["configs"].push_back(config_json(c));
}

std::string text(const Comparison& comparison, const Workload& problem) {
  Table table({{"config"},
               {"launch"},
               {"rounds TFLOP/s", true},
               {"sustained TFLOP/s", true},
               {"MHz", true},
               {"W", true},
               {"pJ/FLOP", true}});
  for (const ComparedConfig& c : comparison.configs) {
    const double rate = timed_tflops(problem, c.sustained_us);
    table.add({c.config, c.launch, number(timed_tflops(problem, c.rounds_us), 1), number(rate, 1),
               number(c.blocks.clock.mhz, 0), number(c.blocks.clock.watts, 0), number(c.blocks.clock.watts / rate, 3)});
  }
  return fmt::format("{}: {} configs, rank correlation {}\n{}", label(problem), comparison.configs.size(),
                     number(comparison.rank_correlation, 2), table.text());
}

}  // namespace

int run_comparison(Session& session, std::span<const Workload> problems, const TuningOptions& tuning, int configs,
                   const MeasurerOptions& measuring) {
  ExhaustiveRun run(session, tuning, measuring);
  const ComparisonOptions options{.configs = configs,
                                  .rounds = run.tuning().rounds,
                                  .jobs = run.tuning().jobs,
                                  .seed = run.tuning().seed,
                                  .scratch_bytes = run.tuning().scratch_bytes,
                                  .is_cancelled = [] { return is_interrupted(); }};
  const int code = for_each_problem(session, problems, [&](const Workload& problem, Json& row) {
    const Comparison comparison = compare_measures(run.engine(), run.measurer(), problem, options);
    fill_row(comparison, row);
    session.print(text(comparison, problem));
  });
  if (code == kInterrupted) session.note("hotgemm: interrupted");
  return code;
}

}  // namespace hotgemm::command
