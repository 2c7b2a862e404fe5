#pragma once

#include "command/ladder_rows.hpp"
#include "context_impl.hpp"
#include "gpu/cublas.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stopwatch.hpp"
#include "gpu/stream.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm::command {

struct LadderTiming {
  int rounds = 7;
  double round_us = 2000;    ///< GPU time per rung and round, but at least one launch
  int launches = 0;          ///< if positive: the launches per rung and round, whatever their time
  int warm_up_launches = 0;  ///< of each rung, ahead of its rounds and of what it takes to estimate its time
  bool with_matrix = false;  ///< fetches corners of D, too
  std::uint64_t seed = 1;
  std::int64_t scratch_bytes = 0;
};

/// Checks and times rows that have been built, one problem after the other, in the current CUDA context.
class LadderRun {
 public:
  LadderRun(DeviceState& device, const LadderTiming& timing);

  /// Runs all remaining rows. Each row runs once on check data, then once on normal data for its samples. Then all rows
  /// run in one race over operands that are never in L2. If a row cannot be timed, its reason says why. `is_cancelled`
  /// is called between steps; the rows that are then left out also get a reason. After an error that destroyed the CUDA
  /// context nothing else can run, and `is_lost` is true. Other driver errors end all rows of the problem.
  void measure(std::vector<LadderRow>& rows, const Workload& problem, const std::function<bool()>& is_cancelled);

  bool is_lost() const { return is_lost_; }
  std::string cublas_version() const { return cublas_ && cublas_->available() ? cublas_->version() : "not used"; }

 private:
  struct Runner;
  std::vector<Runner> runners_of(std::vector<LadderRow>& rows, const Workload& problem, const OperandPool& pool);
  Runner load(LadderRow& row, const Workload& problem, const OperandPool& pool);
  Launch library_launch(const Workload& problem, const OperandPool& pool);
  void check(std::vector<Runner>& runners, const Workload& problem, const OperandPool& pool,
             const std::function<bool()>& is_cancelled);
  void sample(std::vector<Runner>& runners, const Workload& problem, const OperandPool& pool);
  void time(std::vector<Runner>& runners, const OperandPool& pool, const std::function<bool()>& is_cancelled);
  void measure_all(std::vector<LadderRow>& rows, const Workload& problem, const std::function<bool()>& is_cancelled);

  DeviceState& device_;
  const Driver& driver_;
  LadderTiming timing_;
  OwnedStream stream_;
  std::optional<CublasBaseline> cublas_;  ///< made when the first row needs it
  bool is_lost_ = false;
};

}  // namespace hotgemm::command
