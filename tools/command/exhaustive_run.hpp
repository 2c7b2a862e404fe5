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

/// Measures every config of problems, on the GPU that --device names, with traces in the user's cache directory.
class ExhaustiveRun {
 public:
  /// Throws what measurers throw when they are made, and Error{invalid_argument} for a bad --scratch.
  ExhaustiveRun(const Session& session, const TuningOptions& tuning, MeasurerOptions measuring);

  /// Goes on with the problem's trace, or begins one. Throws what measure_every_config throws.
  ExhaustiveResult measure(const Workload& problem);

  /// Keeps no records.
  Engine& engine() { return engine_; }
  Measurer& measurer() { return *measurer_; }
  const TuneOptions& tuning() const { return tuning_; }
  /// The file of the last trace; empty where it was kept in memory.
  const std::string& trace_path() const { return trace_path_; }

 private:
  const Session& session_;
  ContextOptions context_;
  Engine engine_;
  std::unique_ptr<Measurer> measurer_;
  TuneOptions tuning_;
  std::string trace_path_;
};

/// What `visit` fills in for a problem: a row of "results".
using VisitProblem = std::function<void(const Workload& problem, Json& row)>;

/// Visits each problem until the command is interrupted. A failure is its row's, and a line on stderr. Returns the exit
/// code.
int for_each_problem(Session& session, std::span<const Workload> problems, const VisitProblem& visit);

/// `bench --exhaustive`. Returns the exit code.
int run_exhaustive(Session& session, std::span<const Workload> problems, const TuningOptions& tuning,
                   const MeasurerOptions& measuring);

}  // namespace hotgemm::command
