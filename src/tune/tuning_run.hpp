#pragma once

#include "runtime/engine.hpp"
#include "tune/search.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// Makes the measurer of GPU `gpu`, on the thread that will use and destroy it. May throw.
using MeasurerFactory = std::function<std::unique_ptr<Measurer>(int gpu)>;

struct TuningRunOptions {
  std::vector<int> gpus{0};    ///< of one model, each once
  TuneOptions tuning;          ///< scratch_bytes of 0: half of what is free; jobs of 0: the default, less one per GPU
  bool with_baseline = false;  ///< race cuBLAS's fastest too
  bool retune = false;         ///< measure again where there is a current record
  double run_budget_s = std::numeric_limits<double>::infinity();  ///< of all problems together
  int max_trials = std::numeric_limits<int>::max();               ///< candidates timed, of all problems together
};

enum class TuneStatus {
  tuned,     ///< measured now
  recorded,  ///< answered by a record: an earlier one, or that of another problem of its class
  partial,   ///< measured, but ended before the final comparison: the best so far
  failed,
};
std::string_view to_string(TuneStatus status);

struct ProblemResult {
  Problem problem;
  TuneStatus status = TuneStatus::failed;
  int gpu = -1;                        ///< that measured it; -1 if none did
  std::optional<TuningRecord> record;  ///< empty if it failed
  std::string baseline;                ///< what of cuBLAS ran beside it; empty if nothing did
  double baseline_us = std::numeric_limits<double>::quiet_NaN();
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< the baseline's time / ours, paired by rounds
  int measured = 0;                                         ///< candidates that were timed
  double compile_s = 0;
  double measure_s = 0;
  bool is_cut_short = false;  ///< partial because the run ended, not the problem's own budget
  std::vector<Rejection> rejections;
  std::string failure;                           ///< empty unless it failed
  ErrorCode failure_code = ErrorCode::internal;  ///< where `failure` is not empty
};

/// What an interrupted run that is gone on with has done for a problem.
enum class EarlierRun {
  nothing,  ///< or it failed, which may be different now
  partial,  ///< its record is the best so far: it is measured again
  done,     ///< its record answers, whatever `retune` says
};

/// Told what happens while it happens. Functions may be empty. They are called on the thread that runs and on those of
/// the GPUs, one at a time under the run's lock, so they must not start or end a run. is_cancelled is asked on any of
/// these threads at any time, perhaps under the lock of the queue of jobs. What one throws ends the run as
/// is_cancelled does, and is thrown by TuningRun::run as CallbackGuard says; no function is called after it.
struct TuningObserver {
  std::function<void(const GpuFacts&)> started;        ///< once, when the GPUs are known and before the first problem
  std::function<EarlierRun(const Problem&)> earlier;   ///< asked before each problem, after `started`
  std::function<void(int gpu, const Problem&)> began;  ///< to be measured
  std::function<void(int gpu, const Problem&, const Candidate&)> rejected;
  std::function<void(int gpu, const Problem&, const Sample&)> sampled;
  std::function<void(int gpu, const Problem&, const RaceLeader&)> led;
  std::function<void(const ProblemResult&)> finished;  ///< its record is in the database
  std::function<void(int gpu, const std::string& message)> lost;
  std::function<bool()> is_cancelled;  ///< true ends the run with what it has
};

/// Why a run ended before its list did.
enum class RunEnd { complete, cancelled, out_of_time, out_of_trials, out_of_gpus };

struct TuningReport {
  std::vector<ProblemResult> results;  ///< as they were completed
  int left = 0;                        ///< problems without a result
  RunEnd end = RunEnd::complete;
  int restarts = 0;  ///< of measuring processes
  int trials = 0;    ///< candidates timed
  double seconds = 0;
};

/// Tunes many problems, on one GPU or several: the calling thread compiles candidates for the next problem of each GPU
/// while the GPUs measure the current ones, a thread each.
///
/// Problems of one class are measured once. A problem's failure is a result. A GPU whose measurer fails keeps the run
/// going: the problem goes back to the front of the queue and the GPU gets a new measurer, until that does not help;
/// then the GPU is given up, and the others take over. Not thread-safe.
class TuningRun {
 public:
  TuningRun(Engine& engine, MeasurerFactory factory, TuningRunOptions options, TuningObserver observer = {});

  /// Throws Error{invalid_argument} where the GPUs are of different models, and what the factory throws where it does
  /// so for every GPU. Throws what the observer throws, after everything measured by then is recorded.
  TuningReport run(std::span<const Problem> problems);

 private:
  Engine& engine_;
  MeasurerFactory factory_;
  TuningRunOptions options_;
  TuningObserver observer_;
};

}  // namespace hotgemm
