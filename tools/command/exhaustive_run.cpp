#include "command/exhaustive_run.hpp"

#include "cache/cache_options.hpp"
#include "command/compile_jobs.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/table.hpp"
#include "config/work.hpp"
#include "gpu/nvrtc.hpp"
#include "tune/trace_header.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace hotgemm::command {
namespace {

constexpr std::size_t kListed = 20;  // configs of a problem that the JSON lists

/// A progress bar for each stage, one stage after the other.
class Stages {
 public:
  explicit Stages(bool quiet) : quiet_(quiet) {}

  void update(std::string_view what, std::size_t done, std::size_t total) {
    if (what == what_ && done == done_) return;  // the best configs are timed again, which adds nothing to a log
    done_ = done;
    if (!progress_ || what != what_) {
      what_ = what;
      progress_.reset();
      progress_.emplace(what_, quiet_);
    }
    progress_->update(done, total);
  }

 private:
  bool quiet_;
  std::string what_;
  std::size_t done_ = 0;
  std::optional<Progress> progress_;
};

Json entry_json(const TraceRanking& ranking, const RankedCandidate& entry) {
  return {{"config", entry.name.config},
          {"launch", entry.name.launch},
          {"us", ranking.us(entry)},
          {"rounds", entry.rounds}};
}

void fill_row(const ExhaustiveResult& result, Json& row) {
  const TraceRanking& ranking = result.ranking;
  row["configs"] = ranking.timed.size();
  row["rejected"] = ranking.rejected.size();
  row["complete"] = result.is_complete;
  row["ranked"] = Json::array();
  for (const RankedCandidate& entry : ranking.entries) {
    if (row["ranked"].size() < kListed) row["ranked"].push_back(entry_json(ranking, entry));
  }
}

}  // namespace

ExhaustiveRun::ExhaustiveRun(const Session& session, const TuningOptions& tuning, MeasurerOptions measuring)
    : session_(session),
      context_(context_options(session)),
      engine_(context_, Engine::Records::none),
      tuning_(tune_options(tuning)) {
  tuning_.jobs = jobs_or_default(tuning_.jobs);
  use_workers_for(engine_, tuning_.jobs);
  measuring.cache_directory = context_.cache_directory;
  measurer_ = measurer_factory(engine_, measuring)(session.device);
  if (tuning_.scratch_bytes == 0) tuning_.scratch_bytes = measurer_->gpu().free_bytes / 2;
  try {
    Nvrtc::get();  // the name of a trace depends on the compiler
  } catch (const Error&) {
    session.note("hotgemm: no NVRTC: only kernels that are already compiled can be measured");
  }
}

ExhaustiveResult ExhaustiveRun::measure(const Workload& problem) {
  if (has_nothing_to_measure(problem)) {
    throw Error(ErrorCode::invalid_argument, "there is nothing to measure");
  }
  const TraceHeader header = trace_header(HOTGEMM_VERSION, measurer_->gpu().environment, engine_);
  ResumableTrace trace(layer_options(context_), exhaustive_digest(problem, header), header);
  trace_path_ = trace.path().string();
  if (trace_path_.empty() && !std::exchange(is_in_memory_, true)) {
    session_.note("hotgemm: measurements are not kept for a later run: the cache is off or cannot be written");
  }
  const ExhaustiveOptions options{
      .rounds = tuning_.rounds, .jobs = tuning_.jobs, .seed = tuning_.seed, .scratch_bytes = tuning_.scratch_bytes};
  Stages stages(session_.quiet);
  ExhaustiveObserver observer;
  observer.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
    stages.update(what, done, total);
  };
  observer.is_cancelled = [] { return is_interrupted(); };
  return measure_every_config(engine_, *measurer_, problem, trace, options, observer);
}

std::string ExhaustiveRun::interrupt_note() const {
  return is_in_memory_ ? "hotgemm: interrupted" : "hotgemm: interrupted; run the same command again to continue";
}

int for_each_problem(Session& session, std::span<const Workload> problems, const VisitProblem& visit) {
  int code = kGood;
  session.output["results"] = Json::array();
  for (const Workload& problem : problems) {
    if (is_interrupted()) break;
    Json row{{"problem", to_string(problem)}};
    try {
      visit(problem, row);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      if (error.code() == ErrorCode::interrupted) break;
      row["failure"] = error.what();
      print_err("hotgemm: {}: {}\n", label(problem), error.what());
      const bool is_told = code != kGood && code != kSomeFailed;
      if (!is_told) code = exit_code_of(error.code()) == kUsage ? kSomeFailed : exit_code_of(error.code());
    }
    session.output["results"].push_back(std::move(row));
  }
  return is_interrupted() ? kInterrupted : code;
}

int run_exhaustive(Session& session, std::span<const Workload> problems, const TuningOptions& tuning,
                   const MeasurerOptions& measuring) {
  ExhaustiveRun run(session, tuning, measuring);
  Table table({{"problem"},
               {"timed", true},
               {"rejected", true},
               {"fastest config"},
               {"launch"},
               {"µs", true},
               {"TFLOP/s", true}});
  const auto visit = [&](const Workload& problem, Json& row) {
    const ExhaustiveResult result = run.measure(problem);
    fill_row(result, row);
    row["trace"] = run.trace_path();
    std::vector<std::string> cells{label(problem), std::to_string(result.ranking.timed.size()),
                                   std::to_string(result.ranking.rejected.size())};
    if (!result.ranking.entries.empty()) {
      const RankedCandidate& best = result.ranking.entries.front();
      const double us = result.ranking.us(best);
      for (const std::string& cell : {best.name.config, best.name.launch + (result.is_complete ? "" : ", so far"),
                                      number(us, 2), number(timed_tflops(problem, us), 1)}) {
        cells.push_back(cell);
      }
    }
    table.add(std::move(cells));
  };
  const int code = for_each_problem(session, problems, visit);
  if (!table.empty()) session.print(table.text());
  if (!run.trace_path().empty()) {
    session.print("traces: " + std::filesystem::path(run.trace_path()).parent_path().string());
  }
  if (code == kInterrupted) session.note(run.interrupt_note());
  return code;
}

}  // namespace hotgemm::command
