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

/// Makes the measurer of GPU `gpu`. It is called on the thread that will use and destroy the measurer. May throw.
using MeasurerFactory = std::function<std::unique_ptr<Measurer>(int gpu)>;

struct TuningRunOptions {
  std::vector<int> gpus{0};    ///< all of one model, each once
  TuneOptions tuning;          ///< scratch_bytes 0: half of the free memory; jobs 0: the default, minus one per GPU
  bool with_baseline = false;  ///< also race cuBLAS's fastest algorithm
  /// The algorithms of cuBLAS that each pick is compared with, for the record. A record without a comparison is made
  /// again; but for the default only, it keeps its pick, even if it is provisional, and gets the comparison.
  CublasScope cublas = CublasScope::none;
  /// The largest part of a GPU's time in which trials run; the measurers keep it (PacedMeasurer). Below 1, the budget
  /// of a problem does not count the pauses, rounds decide, and cuBLAS is not measured.
  double gpu_share = 1;
  bool retune = false;                                            ///< measure again even if there is a current record
  double run_budget_s = std::numeric_limits<double>::infinity();  ///< for all problems together
  int max_trials = std::numeric_limits<int>::max();               ///< of candidates timed, for all problems together
};

enum class TuneStatus {
  tuned,     ///< measured now
  recorded,  ///< answered by an earlier record, or by that of another problem of its class
  partial,   ///< measured, but stopped before the final comparison, or without all candidates: the best so far
  failed,
};
std::string_view to_string(TuneStatus status);

struct ProblemResult {
  Workload problem;
  TuneStatus status = TuneStatus::failed;
  int gpu = -1;                        ///< the GPU that measured it; -1 if none did
  std::optional<TuningRecord> record;  ///< empty if it failed
  std::string baseline;                ///< name of the cuBLAS algorithm that raced; empty if none did
  double baseline_us = std::numeric_limits<double>::quiet_NaN();
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< the baseline's time / ours, paired by rounds
  /// The time of the fastest that had a block / the pick's; NaN if blocks did not decide.
  double of_fastest = std::numeric_limits<double>::quiet_NaN();
  int measured = 0;  ///< candidates that were timed
  double compile_s = 0;
  double measure_s = 0;
  bool is_cut_short = false;  ///< partial because the run ended, or had too few trials left
  std::vector<Rejection> rejections;
  std::string cublas_failure;                    ///< why the record has no comparison with cuBLAS, if one was asked for
  std::string failure;                           ///< empty if it did not fail
  ErrorCode failure_code = ErrorCode::internal;  ///< set if `failure` is not empty
};

/// The result of an interrupted run for a problem, when that run is continued.
enum class EarlierRun {
  nothing,  ///< none, or a failure, which may not occur again
  partial,  ///< the record is the best so far; the problem is measured again
  done,     ///< the record is the answer, even with `retune`
};

/// Receives events as they happen. Functions may be empty. They are called on the thread that runs and on those of the
/// GPUs, one at a time under the run's lock, so they must not start or end a run. is_cancelled is called on any of
/// these threads at any time, perhaps under the lock of the queue of jobs. If a function throws, the run ends as if it
/// were cancelled, no function is called any more, and TuningRun::run throws the exception as CallbackGuard says.
struct TuningObserver {
  std::function<void(const GpuFacts&)> started;         ///< once, after the GPUs are known and before the first problem
  std::function<EarlierRun(const Workload&)> earlier;   ///< called before each problem, after `started`
  std::function<void(int gpu, const Workload&)> began;  ///< measuring begins
  // These name what is measured: the measured product with the largest sizes of the class (largest_of_class).
  std::function<void(int gpu, const Workload&, const Candidate&)> rejected;
  std::function<void(int gpu, const Workload&, const Sample&)> sampled;
  std::function<void(int gpu, const Workload&, const RaceLeader&)> led;
  std::function<void(const ProblemResult&)> finished;  ///< the record is already in the database
  std::function<void(int gpu, const std::string& message)> lost;
  std::function<bool()> is_cancelled;  ///< true ends the run with the results so far
};

/// The reason why a run ended.
enum class RunEnd { complete, cancelled, out_of_time, out_of_trials, out_of_gpus };

struct TuningReport {
  std::vector<ProblemResult> results;  ///< in the order of completion
  int left = 0;                        ///< problems without a result
  RunEnd end = RunEnd::complete;
  int restarts = 0;  ///< restarts of measuring processes
  int trials = 0;    ///< number of candidates timed
  double seconds = 0;
};

/// Tunes many problems on one or several GPUs, for the objective of the engine. The calling thread compiles candidates
/// for the next problem of each GPU, while one thread per GPU measures the current problems.
///
/// Problems of one class are measured once. The failure of a problem is a result. If a GPU's measurer fails, the
/// problem goes back to the front of the queue, and the GPU gets a new measurer. After several failures in a row the
/// run gives up the GPU, and the other GPUs take over. Not thread-safe.
class TuningRun {
 public:
  TuningRun(Engine& engine, MeasurerFactory factory, TuningRunOptions options, TuningObserver observer = {});

  /// Throws Error{invalid_argument} if the GPUs are of different models, Error{io_error} if the objective is energy and
  /// a GPU does not tell its power. If the factory throws for every GPU, throws its error. Throws what the observer
  /// throws; the measurements until then are recorded.
  TuningReport run(std::span<const Workload> problems);

 private:
  Engine& engine_;
  MeasurerFactory factory_;
  TuningRunOptions options_;
  TuningObserver observer_;
};

}  // namespace hotgemm
