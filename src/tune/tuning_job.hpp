#pragma once

#include "config/class_key.hpp"
#include "tune/tuning_run.hpp"

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace hotgemm {

/// A problem class in a tuning run.
struct TuningJob {
  std::vector<Workload> problems;  ///< all of one class, in the list's order
  std::vector<Candidate> candidates;
  std::optional<TuningRecord> uncompared;  ///< keeps its pick, the only candidate, and lacks a comparison with cuBLAS
  double compile_s = 0;
  int trials = 0;           ///< the number of candidates that it may time
  bool is_limited = false;  ///< candidates were left out, because the run has no trials left for them
  std::set<int> failed_on;  ///< GPUs whose measurers failed with this job

  const Workload& problem() const { return problems.front(); }
  /// The problem that is measured for all.
  Workload measured() const { return largest_of_class(problems.front()); }
};

/// One job per class among `problems`, in the order of the first members. Problems that cannot be tuned also get jobs,
/// which fail.
std::vector<TuningJob> jobs_of(std::span<const Workload> problems);

/// Leaves at most `trials` candidates to be timed: the ones predicted to be fastest.
void limit_trials(TuningJob& job, int trials);

/// Prepares jobs for measuring.
class JobPreparation {
 public:
  /// Keeps references to `engine` and `options`. The environment in `gpu` includes the toolchain.
  JobPreparation(Engine& engine, const TuningRunOptions& options, GpuFacts gpu, int jobs);

  /// Returns a result if `job` needs no measuring; otherwise picks its candidates and builds them. If `is_cancelled`
  /// has stopped this, the job must not be measured.
  std::optional<ProblemResult> prepare(TuningJob& job, EarlierRun earlier, const std::function<bool()>& is_cancelled);

 private:
  std::optional<TuningRecord> current(const Workload& problem) const;
  std::optional<TuningRecord> recorded(const Workload& problem, EarlierRun earlier) const;
  std::optional<TuningRecord> uncompared(const Workload& problem) const;
  GpuQuery query() const;

  Engine& engine_;
  const TuningRunOptions& options_;
  GpuFacts gpu_;
  int jobs_;
};

/// The result of a problem that failed with `error`.
ProblemResult failed(const Workload& problem, const Error& error);

}  // namespace hotgemm
