#include "command/arch_option.hpp"
#include "command/commands.hpp"
#include "command/compile_jobs.hpp"
#include "command/gpu_monitor.hpp"
#include "command/ladder_report.hpp"
#include "command/ladder_run.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/results_file.hpp"
#include "command/torch_product.hpp"
#include "context_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace hotgemm::command {
namespace {

struct LadderCommand {
  LadderOptions what;
  LadderTiming timing;
  double swizzle_factor = 0;
  std::string torch;  ///< the Python that has PyTorch; empty: no row of PyTorch
  std::string scratch;
  int jobs = 0;
  bool verbose = false;
  bool csv = false;
  bool with_roofline = false;
  bool no_run = false;
  std::string arch;
  ResultsOptions results;
};

LadderReport empty_report(const LadderCommand& command, const DeviceInfo& device) {
  LadderReport report;
  report.device = device;
  report.was_run = !command.no_run;
  report.is_verbose = command.verbose;
  report.with_roofline = command.with_roofline;
  return report;
}

/// Plans and builds the rows of a problem.
LadderTable build(const Session& session, const LadderCommand& command, const LadderProblem& problem,
                  const DeviceInfo& device, Engine& engine, int jobs) {
  LadderTable table{problem.problem, planned_rows(problem, device, command.swizzle_factor)};
  Progress progress("compile", session.quiet);
  build_rows(table.rows, problem.problem, device, engine, jobs, [&](std::size_t done, std::size_t total) {
    progress.update(done, total);
    return !is_interrupted();
  });
  return table;
}

LadderReport build_all(const Session& session, const LadderCommand& command, const std::vector<LadderProblem>& problems,
                       Engine& engine) {
  LadderReport report = empty_report(command, planned_device(session, command.arch));
  const int jobs = jobs_or_default(command.jobs);
  use_workers_for(engine, jobs);
  for (const LadderProblem& problem : problems) {
    if (is_interrupted()) break;
    report.tables.push_back(build(session, command, problem, report.device, engine, jobs));
  }
  report.is_complete = !is_interrupted();
  return report;
}

LadderReport measure_all(const Session& session, const LadderCommand& command,
                         const std::vector<LadderProblem>& problems, DeviceState& device, LadderRun& run,
                         GpuMonitor& monitor) {
  LadderReport report = empty_report(command, device.info_with_clocks());
  const int jobs = jobs_or_default(command.jobs);
  use_workers_for(device.engine(), jobs);
  Progress progress("ladder", session.quiet);
  for (std::size_t i = 0; i < problems.size() && !is_interrupted() && !run.is_lost(); ++i) {
    progress.update(i, problems.size());
    LadderTable table = build(session, command, problems[i], report.device, device.engine(), jobs);
    progress.line(fmt::format("[{}/{}] {}: {} row{}", i + 1, problems.size(), label(table.problem), table.rows.size(),
                              table.rows.size() == 1 ? "" : "s"));
    run.measure(table.rows, table.problem, is_interrupted);
    monitor.sample_clock();
    report.tables.push_back(std::move(table));
  }
  report.is_complete = !is_interrupted() && !run.is_lost();
  return report;
}

/// Adds a row of PyTorch to each table of a problem that some rung computes. Returns its version.
std::string add_torch(LadderReport& report, const LadderCommand& command, const DeviceInfo& device, int ordinal) {
  std::vector<LadderTable*> tables;
  std::vector<Workload> problems;
  for (LadderTable& table : report.tables) {
    if (table.rows.empty()) continue;
    tables.push_back(&table);
    problems.push_back(table.problem);
  }
  const TorchAnswer answer = time_torch(command.torch, problems, command.timing, device.l2_bytes, ordinal);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    LadderRow row{.entry = {.name = "torch_mm", .label = "torch"}, .swizzle = "NOOP", .is_torch = true};
    row.roofline = roofline(std::nullopt, problems[i], device);
    row.us = answer.times[i].us;
    if (!answer.times[i].failure.empty()) row.end(LadderOutcome::failed, answer.times[i].failure);
    tables[i]->rows.push_back(std::move(row));
  }
  return answer.version;
}

void print(Session& session, const LadderCommand& command, const LadderReport& report) {
  command::to_json(report, session.output);
  session.print(command.csv ? to_csv(report) : to_text(report));
  for (const LadderTable& table : report.tables) {
    if (table.rows.empty()) print_err("hotgemm: no selected rung computes {}\n", label(table.problem));
    for (const LadderRow& row : table.rows) {
      const bool is_fault =
          row.outcome != LadderOutcome::sound && (row.outcome != LadderOutcome::refused || row.entry.is_named);
      if (is_fault) print_err("hotgemm: {} on {}: {}\n", row.entry.label, label(table.problem), row.reason);
    }
  }
}

int exit_code_for(const LadderReport& report) {
  if (report.has(LadderOutcome::wrong)) return kWrongNumbers;
  if (is_interrupted()) return kInterrupted;
  if (report.has(LadderOutcome::failed)) {
    const auto has_no_kernel = [](const LadderRow& row) {
      return row.outcome == LadderOutcome::failed && row.is_ours() && !row.cubin;
    };
    for (const LadderTable& table : report.tables) {
      if (std::ranges::any_of(table.rows, has_no_kernel)) explain_failed_builds();
    }
    return kSomeFailed;
  }
  const bool has_no_rung = std::ranges::any_of(report.tables, [](const LadderTable& t) { return t.rows.empty(); });
  return report.has(LadderOutcome::refused) || has_no_rung ? kSomeFailed : kGood;
}

int run_on_gpu(Session& session, const LadderCommand& command, const std::vector<LadderProblem>& problems) {
  ResultsFile file(command.results.file);
  const Gpu gpu(session);
  GpuMonitor monitor(gpu.driver(), gpu.device());
  Context context(context_options(session));
  DeviceState& device = impl_of(context).current();
  LadderTiming timing = command.timing;
  timing.scratch_bytes = scratch_bytes(gpu, command.scratch);
  LadderRun run(device, timing);
  LadderReport report = measure_all(session, command, problems, device, run, monitor);
  std::string torch_version;
  if (!command.torch.empty() && report.is_complete)
    torch_version = add_torch(report, command, device.info(), session.device);
  print(session, command, report);
  RunEnvironment environment = run_environment(session, command.results.commit, device, monitor, run.cublas_version());
  if (!torch_version.empty()) environment.emplace_back("PyTorch", torch_version);
  for (const auto& [name, value] : environment) session.output["environment"][name] = value;
  file.append(report.device.name,
              [&](const std::string& heading) { return to_markdown(report, heading, environment); });
  return exit_code_for(report);
}

int run_ladder(Session& session, const LadderCommand& command) {
  const std::vector<LadderProblem> problems = ladder_problems(command.what);
  watch_for_interrupt();
  if (!command.no_run) return run_on_gpu(session, command, problems);
  Context context(context_options(session));
  const LadderReport report = build_all(session, command, problems, impl_of(context).engine());
  print(session, command, report);
  return exit_code_for(report);
}

void add_output_options(CLI::App& sub, const Session& session, LadderCommand& command) {
  sub.option_defaults()->group("Output");
  sub.add_flag(
      "--verbose", command.verbose,
      "also print the kernels' names, whether the tuner tries them, and minimum, mean and maximum of the times");
  sub.add_flag("--csv", command.csv, "print CSV with a line for each rung and shape")
      ->excludes(sub.get_option("--json"));
  sub.add_flag("--roofline", command.with_roofline,
               "also print arithmetic intensity and traffic of each rung, the device's ratio, and which of the two is "
               "the limit; "
               "traffic counts all requests of blocks to L2 and DRAM, as if there were no cache");
  CLI::Option* no_run = sub.add_flag("--no-run", command.no_run,
                                     "compile, and print the resources of each rung; needs no GPU, measures no times");
  add_arch_option(sub, session, command.arch,
                  "with --no-run: the architecture, as in sm_90a or 90a (default: native, this GPU's; else sm_90a)")
      ->needs(no_run);
  add_results_options(sub, command.results);
  sub.get_option("--results")->excludes(no_run);
  sub.get_option("--torch")->excludes(no_run);
  sub.get_option("--show-matrix")->excludes(no_run);
  sub.option_defaults()->group("Options");
}

void add_timing_options(CLI::App& sub, LadderCommand& command) {
  sub.option_defaults()->group("Measuring");
  sub.add_option("--rounds", command.timing.rounds, "rounds of timing, interleaved; the median is reported")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  CLI::Option* round_us = sub.add_option("--round-us", command.timing.round_us,
                                         "microseconds of GPU time per rung and round, but at least one launch")
                              ->capture_default_str()
                              ->check(CLI::PositiveNumber);
  sub.add_option("--iters", command.timing.launches,
                 "launches per rung and round, in place of --round-us; the material's runs are --warmup 2 --iters 10 "
                 "--rounds 1")
      ->check(CLI::Range(1, 1000000))
      ->excludes(round_us);
  sub.add_option("--warmup", command.timing.warm_up_launches, "further launches of each rung ahead of its timing")
      ->check(CLI::Range(0, 1000000));
  sub.add_option(
         "--swizzle-factor", command.swizzle_factor,
         "columns in a strip of the block swizzle, as a part of all columns (default: a half, or a quarter from "
         "4096 columns on)")
      ->check(CLI::Range(1e-6, 1.0));
  sub.add_flag("--show-matrix", command.timing.with_matrix,
               "also print the first and the last elements of D, as each rung computes it");
  sub.add_flag("--torch{python3}", command.torch,
               "also time PyTorch's product, after all rungs, in a process of python3, or of --torch=PYTHON")
      ->disable_flag_override(false);
  sub.add_option("--seed", command.timing.seed, "seed for the data and the order of measurements")
      ->capture_default_str();
}

}  // namespace

void add_ladder_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<LadderCommand>();
  CLI::App& sub =
      add_subcommand(app, session, "ladder",
                     "time the kernels of the ladder, from the naive one to cuBLAS, and print the resources of "
                     "each: registers, spills, shared memory, occupancy",
                     [&session, command] { return run_ladder(session, *command); });
  sub.option_defaults()->group("Rungs and problems");
  add_ladder_options(sub, command->what);
  add_timing_options(sub, *command);
  add_scratch_option(sub, command->scratch);
  add_jobs_option(sub, command->jobs);
  add_output_options(sub, session, *command);
}

}  // namespace hotgemm::command
