#pragma once

#include "command/measurers.hpp"
#include "command/session.hpp"
#include "command/tune_options.hpp"
#include "tune/exhaustive.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace hotgemm::command {

/// Measures every config of problems on the GPU of --device, with traces in the user's cache directory.
class ExhaustiveRun {
 public:
  /// Throws the errors of making a measurer, and Error{invalid_argument} for a bad --scratch.
  ExhaustiveRun(const Session& session, const TuningOptions& tuning, MeasurerOptions measuring);

  /// Continues the problem's trace, or starts one. Throws the errors of measure_every_config.
  ExhaustiveResult measure(const Workload& problem);

  /// An engine that keeps no records.
  Engine& engine() { return engine_; }
  Measurer& measurer() { return *measurer_; }
  const TuneOptions& tuning() const { return tuning_; }
  /// The file of the last trace; empty if the trace was kept in memory.
  const std::string& trace_path() const { return trace_path_; }
  /// The message for a run that was interrupted.
  std::string interrupt_note() const;

 private:
  const Session& session_;
  ContextOptions context_;
  Engine engine_;
  std::unique_ptr<Measurer> measurer_;
  TuneOptions tuning_;
  std::string trace_path_;
  bool is_in_memory_ = false;  ///< a trace could not be kept, and the user was told
};

/// Fills in the row of "results" for a problem.
using VisitProblem = std::function<void(const Workload& problem, Json& row)>;

/// Visits each problem until the command is interrupted. A failure goes into the row of its problem and to stderr.
/// Returns the exit code.
int for_each_problem(Session& session, std::span<const Workload> problems, const VisitProblem& visit);

/// `bench --exhaustive`. Returns the exit code.
int run_exhaustive(Session& session, std::span<const Workload> problems, const TuningOptions& tuning,
                   const MeasurerOptions& measuring);

}  // namespace hotgemm::command
