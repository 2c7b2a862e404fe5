#include "base/log.hpp"
#include "base/member_count.hpp"
#include "cache/cache_options.hpp"
#include "command/commands.hpp"
#include "command/compile_jobs.hpp"
#include "command/measurers.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/shard_option.hpp"
#include "command/tune_list.hpp"
#include "command/tune_options.hpp"
#include "command/tune_progress.hpp"
#include "command/tune_report.hpp"
#include "config/problem_enums.hpp"
#include "records/trace.hpp"
#include "records/tune_journal.hpp"
#include "tune/trace_header.hpp"

#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace hotgemm::command {
namespace {

struct TuneCommand {
  TuneListOptions list;
  TuningOptions tuning;
  MeasurerOptions measuring;
  std::vector<int> gpus;
  const CLI::Option* device = nullptr;  // --device
  std::string objective;                // empty: of the environment
  double run_budget_s = TuningRunOptions{}.run_budget_s;
  int trials = TuningRunOptions{}.max_trials;
  bool no_baseline = false;
  bool cublas = false;
  bool cublas_default = false;
  bool retune = false;
  bool resume = false;
  bool rejections = false;
  std::string trace;
};

std::vector<int> gpus_of(const TuneCommand& command, const Session& session) {
  if (command.gpus.empty()) return {session.device};
  if (std::set<int>(command.gpus.begin(), command.gpus.end()).size() != command.gpus.size()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("--gpus {} names a GPU twice", fmt::join(command.gpus, ",")));
  }
  return command.gpus;
}

TuningRunOptions run_options(const TuneCommand& command, const Session& session) {
  return {.gpus = gpus_of(command, session),
          .tuning = tune_options(command.tuning),
          .with_baseline = !command.no_baseline,
          .cublas = command.cublas           ? CublasScope::all
                    : command.cublas_default ? CublasScope::default_only
                                             : CublasScope::none,
          .gpu_share = command.measuring.gpu_share,
          .retune = command.retune,
          .run_budget_s = command.run_budget_s,
          .max_trials = command.trials};
}

/// The records and the lines of the trace that a run has lost.
struct Losses {
  Database::Unstored records;
  bool of_trace = false;
  bool any() const { return records.records > 0 || of_trace; }
};

/// Output of a run while it runs: the journal, the trace, and messages for people and programs.
class TuneLog {
 public:
  TuneLog(const TuneCommand& command, Session& session, const Engine& engine, const TuneList& list, bool several_gpus)
      : command_(command),
        session_(session),
        engine_(engine),
        listed_(list.listed),
        progress_(list.problems.size(), several_gpus, session.quiet) {
    session.output["results"] = Json::array();
    session.output["lost_gpus"] = Json::array();
    // Opened before anything is measured, so that an unusable name is reported at once.
    if (!command.trace.empty()) {
      trace_.emplace(AppendFile::at(command.trace, !command.resume),
                     [](const std::string& message) { log(LogLevel::error, message); });
    }
  }

  TuningObserver observer() {
    TuningObserver observer;
    observer.started = [this](const GpuFacts& gpu) { start(gpu); };
    observer.earlier = [this](const Workload& problem) { return earlier(problem); };
    observer.began = [this](int gpu, const Workload& problem) { progress_.began(gpu, problem); };
    observer.led = [this](int gpu, const Workload&, const RaceLeader& leader) {
      flush_trace();
      progress_.led(gpu, leader);
    };
    observer.finished = [this](const ProblemResult& result) { finish(result); };
    observer.lost = [this](int gpu, const std::string& message) { lose(gpu, message); };
    observer.is_cancelled = [] { return is_interrupted(); };
    if (!trace_) return observer;
    observer.sampled = [this](int, const Workload& problem, const Sample& s) {
      trace_->add(TraceSample{to_string(problem), s.config, s.launch, s.race, s.round, s.us});
    };
    observer.rejected = [this](int, const Workload& problem, const Candidate& c) {
      trace_->add(TraceRejection{to_string(problem), to_string(c.config), to_string(c.launch),
                                 std::string(to_string(c.stage)), c.reason});
    };
    return observer;
  }

  Losses losses() {
    flush_trace();
    return {engine_.database.unstored(), trace_ && !trace_->is_good()};
  }

 private:
  void start(const GpuFacts& gpu) {
    // Everything that the results depend on, so that --resume continues only the same work.
    static_assert(
        member_count<TuneCommand>() == 15 && member_count<TuningOptions>() == 6 && member_count<MeasurerOptions>() == 5,
        "put the new option below if results depend on it; then correct the number");
    const TuningOptions& tuning = command_.tuning;
    const std::string options =
        fmt::format("candidates {} budget {} rounds {} seed {} scratch {} objective {}{}{}", tuning.candidates,
                    tuning.budget_s, tuning.rounds, tuning.seed, tuning.scratch, to_string(engine_.objective),
                    command_.cublas           ? " cublas"
                    : command_.cublas_default ? " cublas-default"
                                              : "",
                    command_.measuring.gpu_share < 1 ? " beside others" : "");
    const std::string digest = journal_digest(listed_, options, gpu.environment.gpu, gpu.environment.arch);
    journal_.emplace(layer_options(context_options(session_)), digest, command_.resume);
    if (trace_) trace_->add(trace_header(HOTGEMM_VERSION, gpu.environment, engine_));
    flush_trace();
  }

  EarlierRun earlier(const Workload& problem) const {
    const std::optional<JournalEntry> entry = journal_->status(problem);
    if (!entry || entry->status == JournalEntry::Status::failed) return EarlierRun::nothing;
    return entry->status == JournalEntry::Status::done ? EarlierRun::done : EarlierRun::partial;
  }

  void finish(const ProblemResult& result) {
    using Status = JournalEntry::Status;
    const Status status = !result.record ? Status::failed : result.is_cut_short ? Status::partial : Status::done;
    journal_->add(result.problem, {status, result.failure});
    flush_trace();
    session_.output["results"].push_back(to_json(result));
    progress_.finished(result);
  }

  void lose(int gpu, const std::string& message) {
    session_.output["lost_gpus"].push_back({{"gpu", gpu}, {"message", message}});
    const std::string text = fmt::format("hotgemm: GPU {} is no longer used: {}", gpu, one_line(message));
    if (session_.quiet) print_err("{}\n", text);  // print it even with --quiet: it is not progress
    progress_.line(text);
  }

  void flush_trace() {
    if (trace_) trace_->flush();
  }

  const TuneCommand& command_;
  Session& session_;
  const Engine& engine_;
  std::span<const Workload> listed_;
  TuneProgress progress_;
  std::optional<TuneJournal> journal_;
  std::optional<TraceWriter> trace_;
};

int exit_code_for(const TuningReport& report, const Losses& losses) {
  if (report.end == RunEnd::cancelled && !losses.any()) return kInterrupted;
  const auto ended_with = [&](ErrorCode code) {
    return std::ranges::any_of(report.results,
                               [&](const ProblemResult& r) { return !r.record && r.failure_code == code; });
  };
  if (ended_with(ErrorCode::wrong_result)) return kWrongNumbers;
  if (losses.any()) return kEnvironment;
  if (ended_with(ErrorCode::compile_failed)) explain_failed_builds();
  const bool has_failures = std::ranges::any_of(report.results, [](const ProblemResult& r) { return !r.record; });
  return has_failures || report.end == RunEnd::out_of_gpus ? kSomeFailed : kGood;
}

void print_losses(const Session& session, const TuneCommand& command, const TuningReport& report,
                  const Losses& losses) {
  if (losses.records.records > 0) {
    print_err("hotgemm: {} not stored: {}\n", in_words(losses.records.records, "record"), losses.records.reason);
  }
  if (losses.of_trace) print_err("hotgemm: the trace {} is not complete\n", command.trace);
  if (report.end != RunEnd::cancelled) return;
  session.note(losses.records.records > 0 ? "hotgemm: interrupted"
                                          : "hotgemm: interrupted; the results above are recorded");
}

void print_report(const Session& session, const TuneCommand& command, const TuningReport& report) {
  session.print(results_table(report));
  if (command.rejections) {
    const std::string table = rejections_table(report);
    session.print(table.empty() ? "no candidate was rejected" : "\n" + table);
  }
  session.print("\n" + run_summary(report));
  for (const ProblemResult& r : report.results) {
    if (!r.failure.empty()) print_err("hotgemm: {}: {}\n", label(r.problem), r.failure);
    if (!r.cublas_failure.empty()) {
      print_err("hotgemm: {}: not compared with cuBLAS: {}\n", label(r.problem), one_line(r.cublas_failure));
    }
  }
}

/// The processes of one machine that take shares of a list take a GPU each, unless the user names one.
void pick_gpu(Session& session, const TuneCommand& command) {
  if (command.list.shard != "auto" || !command.gpus.empty() || command.device->count() > 0) return;
  const int local = rank_of(command.list.shard).local;
  const Driver& driver = Driver::get();
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "count the GPUs");
  if (local > 0 && count > 0) session.device = local % count;
}

/// Recorded problems end before others are measured, and those of a class together: reports follow the list.
void put_in_order_of_list(std::vector<ProblemResult>& results, const std::vector<Workload>& list) {
  std::map<std::string, std::size_t> places;
  for (const Workload& problem : list) places.emplace(to_string(problem), places.size());
  std::ranges::stable_sort(results, {}, [&](const ProblemResult& r) { return places.at(to_string(r.problem)); });
}

int run_tune(Session& session, const TuneCommand& command) {
  pick_gpu(session, command);
  TuningRunOptions options = run_options(command, session);
  ContextOptions context = context_options(session);
  if (!command.objective.empty()) context.objective = parse_enum<Objective>(command.objective, "--objective");
  Engine engine(context);
  const TuneList list = make_tune_list(session, command.list, engine, options.gpus.front());
  watch_for_interrupt();
  options.tuning.jobs = jobs_or_default(options.tuning.jobs, static_cast<int>(options.gpus.size()));
  use_workers_for(engine, options.tuning.jobs);
  MeasurerOptions measuring = command.measuring;
  measuring.cache_directory = context.cache_directory;

  TuningReport report;
  Losses losses;
  {
    TuneLog log(command, session, engine, list, options.gpus.size() > 1);
    if (!list.problems.empty()) {
      report = TuningRun(engine, measurer_factory(engine, measuring), options, log.observer()).run(list.problems);
    }
    losses = log.losses();
  }
  put_in_order_of_list(report.results, list.problems);
  add_to_json(report, session.output);
  session.output["not_stored"] = losses.records.records;
  if (losses.records.records > 0) session.output["store_failure"] = losses.records.reason;
  session.output["trace_is_complete"] = !losses.of_trace;
  print_report(session, command, report);
  print_losses(session, command, report, losses);
  return exit_code_for(report, losses);
}

/// Puts the seconds of "90", "90s", "10m" or "2h" into `text`. Returns what is wrong with it.
std::string in_seconds(std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double seconds = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || !(number * seconds > 0) || !std::isfinite(number * seconds)) {
    return fmt::format("{}: expected a time above 0, as in 90, 90s, 10m or 2h", text);
  }
  text = fmt::format("{}", number * seconds);
  return {};
}

void add_budget_options(CLI::App& sub, TuneCommand& command) {
  sub.add_option("--run-budget", command.run_budget_s,
                 "time for the whole run, as in 90, 90s, 10m or 2h; after it no problem is started")
      ->type_name("TIME")
      ->transform(CLI::Validator(in_seconds, ""));
  sub.add_option("--trials", command.trials,
                 "number of candidates to time in the whole run; a problem for which too few are left gets a "
                 "provisional record")
      ->check(CLI::Range(1, TuningRunOptions{}.max_trials));
  sub.add_option("--rounds", command.tuning.rounds, "rounds of the final comparison")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
}

void add_measurer_options(CLI::App& sub, TuneCommand& command) {
  sub.option_defaults()->group("GPUs and processes");
  sub.add_option("--gpus", command.gpus, "several GPUs of one model, as in 0,1; the problems are divided among them")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->excludes("--device");
  sub.add_option("--hang-timeout", command.measuring.hang_timeout_s,
                 "seconds that a kernel may take beyond 20 times its expected time")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub.add_option(
         "--gpu-share", command.measuring.gpu_share,
         "largest part of a GPU's time for measuring, as in 0.1, in slices of a few milliseconds, so that other "
         "programs keep the rest; picks where power binds are then provisional, and cuBLAS is not measured")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1.0));
  sub.add_flag("--allow-mps", command.measuring.allow_mps, "measure even if other processes use the GPU through MPS");
  sub.add_flag("--in-process", command.measuring.in_process,
               "measure in this process, for a profiler; a kernel that faults or hangs then ends the run")
      ->excludes("--hang-timeout")
      ->excludes("--allow-mps");
}

}  // namespace

void add_tune_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<TuneCommand>();
  CLI::App& sub =
      add_subcommand(app, session, "tune", "measure candidate kernels for problems on this GPU, and record the best",
                     [&session, command] { return run_tune(session, *command); });
  command->device = sub.get_option("--device");
  add_problem_options(sub, command->list.problems);
  sub.option_defaults()->group("Problems");
  add_shard_option(sub, command->list.shard);
  add_tuning_options(sub, command->tuning);
  add_budget_options(sub, *command);
  add_measurer_options(sub, *command);
  sub.option_defaults()->group("Records");
  sub.add_option(
         "--objective", command->objective,
         "speed: record the kernel with the least time; energy: the one with the least joules by the power that "
         "NVML tells, always in blocks; both records are kept (default: HOTGEMM_OBJECTIVE, else speed)")
      ->check(CLI::IsMember({"speed", "energy"}));
  sub.add_flag("--no-baseline", command->no_baseline, "do not race cuBLAS beside the candidates");
  sub.add_flag(
         "--cublas", command->cublas,
         "at the end compare each pick with cuBLAS's default and its best, as `bench` does, and keep version, "
         "algorithm and ratio in the record; takes up to 30 s more for a problem. Records without it are made again")
      ->excludes("--gpu-share");
  sub.add_flag("--cublas-default", command->cublas_default,
               "compare each pick with cuBLAS's default only, which programs get that choose no algorithm; takes some "
               "tenths of a second more for a problem. A record without a comparison keeps its pick, and gets one")
      ->excludes("--gpu-share")
      ->excludes("--cublas");
  sub.add_flag("--retune", command->retune, "measure again even if there is a record");
  sub.add_flag("--stale", command->list.only_stale,
               "measure only problems whose record is stale, as `db show` marks them: driver, compiler, templates or "
               "power limit have changed. Without problems, all recorded ones of this GPU");
  sub.add_flag("--resume", command->resume,
               "continue an interrupted run with the same problems and options: finished problems are skipped, "
               "problems that were stopped early are measured again");
  sub.option_defaults()->group("Report");
  sub.add_option("--trace", command->trace, "write every sample and rejection to this file as JSON lines")
      ->type_name("FILE");
  sub.add_flag("--rejections", command->rejections, "list the candidates that were not picked, with stage and reason");
  sub.footer(
      "Kernels are measured in a worker process. A kernel that faults, hangs or writes outside of D loses only its own "
      "row, and is not tried again for a week. Ctrl-C ends the run with the best results so far; a second Ctrl-C ends "
      "it at once. Every result is recorded before it is printed; the exit code is 3 if one could not be stored on "
      "disk.");
}

}  // namespace hotgemm::command
