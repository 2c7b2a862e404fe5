#include "tune/tuning_job.hpp"

#include "base/moment.hpp"
#include "config/work.hpp"
#include "records/problem_fields.hpp"
#include "runtime/validate.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace hotgemm {
std::vector<TuningJob> jobs_of(std::span<const Workload> problems) {
  std::vector<TuningJob> jobs;
  std::map<std::string, std::size_t> index;
  for (const Workload& problem : problems) {
    const auto [it, is_new] = index.emplace(class_text(problem), jobs.size());
    if (is_new) jobs.emplace_back();
    jobs[it->second].problems.push_back(problem);
  }
  return jobs;
}

void limit_trials(TuningJob& job, int trials) {
  job.trials = 0;
  const auto is_left_out = [&](const Candidate& c) { return c.is_alive() && ++job.trials > trials; };
  if (std::erase_if(job.candidates, is_left_out) > 0) job.is_limited = true;
  job.trials = std::min(job.trials, trials);
}

ProblemResult failed(const Workload& problem, const Error& error) {
  return {.problem = problem, .failure = error.what(), .failure_code = error.code()};
}

JobPreparation::JobPreparation(Engine& engine, const TuningRunOptions& options, GpuFacts gpu, int jobs)
    : engine_(engine), options_(options), gpu_(std::move(gpu)), jobs_(jobs) {}

GpuQuery JobPreparation::query() const {
  GpuQuery query = engine_.query(gpu_.environment);
  query.power_limit_w = gpu_.power_limit_w;
  return query;
}

/// The record of the class for the objective, if nothing has made it stale.
std::optional<TuningRecord> JobPreparation::current(const Workload& problem) const {
  const std::optional<Found> found = engine_.database.find(problem, query());
  if (!found || found->freshness != Freshness::current || found->record.objective != engine_.objective) {
    return std::nullopt;
  }
  return found->record;
}

/// The record that answers without a measurement.
std::optional<TuningRecord> JobPreparation::recorded(const Workload& problem, EarlierRun earlier) const {
  const bool is_done = earlier == EarlierRun::done;
  if (earlier == EarlierRun::partial || (options_.retune && !is_done)) return std::nullopt;
  std::optional<TuningRecord> record = current(problem);
  if (!record || is_done) return record;
  // A provisional record is an answer only if no pick is asked for, or if this run has spent its budget on it.
  if (record->is_provisional && options_.cublas != CublasScope::default_only) return std::nullopt;
  const bool lacks_cublas = (options_.cublas != CublasScope::none && record->cublas.version.empty()) ||
                            (options_.cublas == CublasScope::all && !(record->cublas.ratio > 0));
  return lacks_cublas ? std::nullopt : record;
}

/// The record of the class, if all that is asked of it is a comparison with cuBLAS's default.
std::optional<TuningRecord> JobPreparation::uncompared(const Workload& problem) const {
  if (options_.cublas != CublasScope::default_only || options_.retune || options_.gpu_share < 1) return std::nullopt;
  std::optional<TuningRecord> record = current(problem);
  return record && record->cublas.version.empty() ? record : std::nullopt;
}

std::optional<ProblemResult> JobPreparation::prepare(TuningJob& job, EarlierRun earlier,
                                                     const std::function<bool()>& is_cancelled) {
  const auto start = std::chrono::steady_clock::now();
  const Workload& problem = job.problem();
  try {
    validate(problem);
    if (has_nothing_to_measure(problem)) {
      throw Error(ErrorCode::invalid_argument, "there is nothing to tune in " + to_string(problem));
    }
    if (std::optional<TuningRecord> record = recorded(problem, earlier)) {
      return ProblemResult{.problem = problem, .status = TuneStatus::recorded, .record = std::move(record)};
    }
    const Workload measured = job.measured();
    job.uncompared = uncompared(problem);
    if (job.uncompared) {
      job.candidates = {{.config = job.uncompared->config, .launch = job.uncompared->launch}};
    } else {
      job.candidates = pick_candidates(measured, gpu_.info, options_.tuning.max_candidates, &engine_.database, query(),
                                       affordable_by(engine_, measured));
    }
    build_candidates(job.candidates, measured, gpu_.environment, engine_, jobs_, is_cancelled);
    merge_twins(job.candidates, measured);  // merge now: each trial is then a kernel that is timed
  } catch (const Error& error) {
    return failed(problem, error);
  }
  job.compile_s = seconds_since(start);
  return std::nullopt;
}

}  // namespace hotgemm
