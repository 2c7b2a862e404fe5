#include "command/bench_report.hpp"
#include "command/bench_run.hpp"
#include "command/bench_summary.hpp"
#include "command/commands.hpp"
#include "command/comparison_run.hpp"
#include "command/compile_jobs.hpp"
#include "command/exhaustive_run.hpp"
#include "command/gpu_monitor.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/quality_run.hpp"
#include "command/results_file.hpp"
#include "command/tune_options.hpp"
#include "config/supported.hpp"
#include "context_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace hotgemm::command {
namespace {

struct BenchCommand {
  ProblemOptions problems;
  TuningOptions tuning;
  std::string policy = "tune";
  std::string config;  // pinned; empty: the policy picks
  std::string launch;
  BenchOptions bench;
  std::string mode = "auto";
  std::string measure = "auto";
  bool summary = false;
  bool no_baseline = false;
  bool with_ceiling = false;
  ResultsOptions results;
  bool exhaustive = false;
  bool quality = false;
  int compared_configs = 0;  // 0: no comparison of measures
  MeasurerOptions measuring;
  std::vector<const CLI::Option*> of_others;  // need --exhaustive, --quality or --compare-measures
};

std::optional<TimingMode> mode_of(const std::string& word) {
  if (word == "eager") return TimingMode::eager;
  if (word == "graph") return TimingMode::graph;
  return std::nullopt;
}

std::optional<Measure> measure_of(const std::string& word) {
  for (const Measure measure : {Measure::rounds, Measure::sustained}) {
    if (word == to_string(measure)) return measure;
  }
  return std::nullopt;
}

Policy policy_of(const std::string& word) {
  for (const Policy policy : {Policy::cached_only, Policy::estimate}) {
    if (word == to_string(policy)) return policy;
  }
  return Policy::tune;
}

std::string progress_line(const BenchResult& r, std::size_t done, std::size_t total) {
  const std::string head = fmt::format("[{}/{}] {}: ", done, total, label(r.problem));
  if (!r.failure.empty()) return head + "failed";
  std::string line =
      head + fmt::format("{}, {:.2f} us, {:.1f} TFLOP/s", to_string(r.mode), r.ours.median_us, r.ours.tflops);
  if (!r.bare.name.empty()) line += fmt::format(", {:.3f} of the bare product's time", r.over_bare);
  if (r.problem.epilogue.has_function()) line += ", D is not checked";
  if (!r.baseline.empty()) line += fmt::format(", {}: {:.3f} of {}", to_string(r.measure), r.ratio, r.baseline);
  return line;
}

BenchReport measure_all(Session& session, const BenchCommand& command, const std::vector<Workload>& problems,
                        BenchRun& run, GpuMonitor& monitor) {
  BenchReport report;
  report.has_baseline = !command.no_baseline;
  report.asked_power = command.measure == "auto";
  if (command.with_ceiling) {
    run.add_ceilings();
    for (Ceiling& ceiling : run.ceilings()) {
      report.ceilings.push_back({.name = ceiling.name(), .before = ceiling.rates_alone(run.stream())});
    }
  }
  Progress progress("bench", session.quiet);
  std::size_t done = 0;
  while (done < problems.size() && !is_interrupted()) {
    progress.update(done, problems.size(), label(problems[done]));
    std::vector<BenchResult> results = run.measure(problems[done++]);
    for (BenchResult& result : results) {
      progress.line(progress_line(result, done, problems.size()));
      report.results.push_back(std::move(result));
    }
    monitor.sample_clock();
  }
  report.left = problems.size() - done;
  for (std::size_t i = 0; i < report.ceilings.size(); ++i)
    report.ceilings[i].after = run.ceilings()[i].rates_alone(run.stream());
  return report;
}

int exit_code_for(const BenchReport& report, const BenchRun& run) {
  if (run.has_wrong_numbers()) return kWrongNumbers;
  if (!report.is_complete()) return kInterrupted;
  if (report.failures() == 0) return kGood;
  if (run.has_failed_builds()) explain_failed_builds();
  return kSomeFailed;
}

/// The options of the measurements that take the place of the usual one.
void require_another_measurement(const BenchCommand& command) {
  if (command.exhaustive || command.quality || command.compared_configs > 0) return;
  for (const CLI::Option* option : command.of_others) {
    if (option->count() == 0) continue;
    throw Error(ErrorCode::invalid_argument,
                option->get_name() + " means nothing without --exhaustive, --quality or --compare-measures");
  }
}

int run_bench(Session& session, const BenchCommand& command) {
  require_another_measurement(command);
  const std::vector<ProblemSet> sets = read_problem_sets(command.problems);
  const std::vector<Workload> problems = problems_of(sets);
  require(problems);
  watch_for_interrupt();
  if (command.quality || command.exhaustive || command.compared_configs > 0)
    std::ranges::for_each(problems, require_measured_product);
  if (command.quality) {
    session.schema = "bench-quality";
    return run_quality(session, problems, command.tuning, command.bench.rounds, command.measuring);
  }
  if (command.compared_configs > 0) {
    session.schema = "bench-compare-measures";
    return run_comparison(session, problems, command.tuning, command.compared_configs, command.measuring);
  }
  if (command.exhaustive) {
    session.schema = "bench-exhaustive";
    return run_exhaustive(session, problems, command.tuning, command.measuring);
  }
  ResultsFile file(command.results.file);
  const Gpu gpu(session);
  GpuMonitor monitor(gpu.driver(), gpu.device());
  ContextOptions options = context_options(session);
  options.tuning = tune_options(command.tuning, gpu);
  options.tuning.jobs = jobs_or_default(options.tuning.jobs);
  Context context(options);
  add_functions(command.problems, impl_of(context).engine().bundle);
  use_workers_for(impl_of(context).engine(), options.tuning.jobs);
  if (!command.config.empty()) {
    for (const Workload& problem : problems) context.pin(problem, command.config, command.launch);
  }
  BenchOptions bench = command.bench;
  bench.mode = mode_of(command.mode);
  bench.measure = measure_of(command.measure);
  bench.seed = command.tuning.seed + 1;  // the tuner uses other data
  BenchRun run(gpu.driver(), context, policy_of(command.policy), bench, options.tuning.scratch_bytes,
               !command.no_baseline);

  BenchReport report = measure_all(session, command, problems, run, monitor);
  if (command.summary) report.summary = summary_of(sets, report.results);
  command::to_json(report, session.output);  // qualified, so that the overloads of nlohmann::json do not take part
  const RunEnvironment environment =
      run_environment(session, command.results.commit, run.device(), monitor, run.baseline_version());
  for (const auto& [name, value] : environment) session.output["environment"][name] = value;
  session.print(to_text(report));
  file.append(run.device().info().name,
              [&](const std::string& heading) { return to_markdown(report, heading, environment); });
  if (!report.is_complete())
    session.note(fmt::format("hotgemm: interrupted; left: {}", in_words(report.left, "problem")));
  for (const BenchResult& r : report.results) {
    if (!r.failure.empty()) print_err("hotgemm: {}: {}\n", label(r.problem), r.failure);
  }
  return exit_code_for(report, run);
}

void add_oracle_options(CLI::App& sub, BenchCommand& command) {
  sub.option_defaults()->group("Other measurements");
  CLI::Option* exhaustive = sub.add_flag(
      "--exhaustive", command.exhaustive,
      "instead: time every legal config of each problem once, and the best twentieth in seven rounds; measurements "
      "are kept and used again, also after an interrupt");
  CLI::Option* quality = sub.add_flag(
      "--quality", command.quality,
      "instead: print how much slower the tuner's pick, without records, and the model's pick are than the best of "
      "--exhaustive; runs --exhaustive first where its measurements are missing. If blocks or the power model "
      "decide the tuner's pick, all three run alone, and the best is the fastest alone of 41: the 20 fastest in "
      "rounds, "
      "20 others that the power model prefers, and the tuner's pick. Blocks need a --budget of 3 or more");
  CLI::Option* compare =
      sub.add_option("--compare-measures", command.compared_configs,
                     "instead: time this many configs of each problem in rounds, where all share one clock, and each "
                     "alone, where each has its own; print both rates and the correlation of the two orders")
          ->check(CLI::Range(2, 1000));
  quality->excludes(exhaustive);
  compare->excludes(exhaustive)->excludes(quality);
  for (CLI::Option* option : {exhaustive, quality, compare}) {
    for (const char* other : {"--policy", "--mode", "--measure", "--pairs", "--summary", "--round-us", "--no-baseline",
                              "--fresh-cublas", "--ceiling", "--results", "--config", "--launch"}) {
      option->excludes(sub.get_option(other));
    }
  }
  sub.option_defaults()->group("Processes of other measurements");
  CLI::Option* in_process = sub.add_flag("--in-process", command.measuring.in_process,
                                         "measure in this process; a kernel that faults or hangs then ends the run");
  CLI::Option* hang_timeout = sub.add_option("--hang-timeout", command.measuring.hang_timeout_s,
                                             "seconds that a kernel may take beyond 20 times its expected time")
                                  ->capture_default_str()
                                  ->check(CLI::PositiveNumber)
                                  ->excludes(in_process);
  command.of_others = {in_process, hang_timeout};
}

}  // namespace

void add_bench_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<BenchCommand>();
  CLI::App& sub = add_subcommand(
      app, session, "bench",
      "time problems against the fastest of cuBLAS and cuBLASLt, and epilogues against the bare product, on this GPU",
      [&session, command] { return run_bench(session, *command); });
  add_problem_options(sub, command->problems);
  add_function_option(sub, command->problems);
  add_tuning_options(sub, command->tuning);
  sub.add_option("--policy", command->policy, "how to pick a kernel")
      ->capture_default_str()
      ->check(CLI::IsMember({"cached_only", "estimate", "tune"}));
  CLI::Option* config = sub.add_option(
      "--config", command->config, "time this config, as `show` prints it, with every problem; not in bare products");
  sub.add_option("--launch", command->launch,
                 "how to launch it, as `show` prints it, such as r8m (default: by the model)")
      ->needs(config);
  sub.add_option("--rounds", command->bench.rounds, "rounds of measurements that are reported")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  sub.add_option("--round-us", command->bench.round_us, "microseconds of GPU time per side and round")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub.add_option("--mode", command->mode, "eager, graph, or auto: eager, and also graph below 20 us")
      ->capture_default_str()
      ->check(CLI::IsMember({"eager", "graph", "auto"}));
  sub.add_option("--measure", command->measure,
                 fmt::format("rounds: all sides side by side, and behind a foreign kernel if ours is launched "
                             "programmatically; sustained: each side alone, in blocks of {} s; auto: "
                             "sustained where the power cap limits cuBLAS's default, else rounds",
                             block_seconds({})))
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "rounds", "sustained"}));
  sub.add_option("--pairs", command->bench.pairs, "blocks of each side that are reported, by the sustained measure")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  sub.add_flag(
      "--fresh-cublas", command->bench.kept.afresh,
      "choose among cuBLAS's algorithms again; else the choice of an earlier run with the same cuBLAS, GPU model, "
      "problem and measure is used, where there is one");
  sub.option_defaults()->group("Report");
  CLI::Option* summary =
      sub.add_flag("--summary", command->summary, "also print a table with one row for each file of --shapes");
  sub.add_flag("--no-baseline", command->no_baseline, "time only hotgemm's kernels")->excludes(summary);
  sub.add_flag("--ceiling", command->with_ceiling,
               "also race each problem against tensor cores that load nothing, and print the fraction of their rate");
  add_results_options(sub, command->results);
  add_oracle_options(sub, *command);
}

}  // namespace hotgemm::command
