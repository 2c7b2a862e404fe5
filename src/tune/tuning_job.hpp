#pragma once

#include "tune/tuning_run.hpp"

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace hotgemm {

/// A problem class on its way through a tuning run.
struct TuningJob {
  std::vector<Workload> problems;  ///< of the class, in the list's order; the first one is measured
  std::vector<Candidate> candidates;
  double compile_s = 0;
  int trials = 0;           ///< candidates it may time
  std::set<int> failed_on;  ///< GPUs whose measurers have failed with it

  const Workload& problem() const { return problems.front(); }
};

/// The classes among `problems`, by their first member. Problems that cannot be tuned are jobs too, and fail.
std::vector<TuningJob> jobs_of(std::span<const Workload> problems);

/// Leaves at most `trials` candidates to be timed: those predicted to be the fastest.
void limit_trials(TuningJob& job, int trials);

/// What happens to a problem before it is measured.
class JobPreparation {
 public:
  /// Keeps references to `engine` and `options`. `environment` is that of the GPUs, with the toolchain.
  JobPreparation(Engine& engine, const TuningRunOptions& options, DeviceInfo device, Environment environment, int jobs);

  /// Answers `job` where that takes no measuring; else picks its candidates and builds them. What `is_cancelled` has
  /// cut short is not to be measured.
  std::optional<ProblemResult> prepare(TuningJob& job, EarlierRun earlier, const std::function<bool()>& is_cancelled);

 private:
  std::optional<TuningRecord> recorded(const Workload& problem, EarlierRun earlier) const;

  Engine& engine_;
  const TuningRunOptions& options_;
  DeviceInfo device_;
  Environment environment_;
  int jobs_;
};

/// A result that says why there is no other.
ProblemResult failed(const Workload& problem, const Error& error);

}  // namespace hotgemm
