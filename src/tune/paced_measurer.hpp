#pragma once

#include "tune/measurer.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// The part of a GPU's time that measuring takes beside other work.
struct Pace {
  double share = 1;       ///< the largest part of wall time in which trials run; above 0, at most 1
  double slice_s = 4e-3;  ///< for which trials run without a pause, where they can be divided so far
  /// Seconds for which begin waits for the lock of the GPU; then it throws Error{interrupted}. Infinite: as the
  /// measurer itself.
  double lock_wait_s = std::numeric_limits<double>::infinity();
  /// Called before each slice, and during pauses at least ten times a second; true ends the race with what it has. May
  /// be empty.
  std::function<bool()> is_cancelled;
  /// Called as often; true: no pauses now. May be empty.
  std::function<bool()> is_hurried;
  /// Called after each slice, and during pauses at least ten times a second: other work of the thread. May be empty.
  std::function<void()> meanwhile;
};

/// The clock of a PacedMeasurer. Tests replace it.
struct PaceClock {
  std::function<double()> now_s;
  std::function<void(double)> sleep_s;

  /// The steady clock of the system.
  static PaceClock system();
};

/// Measures as another measurer does, but in slices with pauses between them, so that other work on the GPU goes on.
///
/// Checks run one trial at a time. A race is divided into races of one round, and a round into groups of trials that
/// fit into a slice. Each group contains the incumbent, the first trial that does not fail, and times are scaled so
/// that the incumbent's is the same in each group. If the incumbent takes much longer in a group than usual, other work
/// has disturbed the group: it is thrown away and run again, up to three times. A round with a group that stays
/// disturbed counts as disturbed, and so do all rounds if the incumbent's times spread too far (plan/halving.hpp). To
/// begin may mean to wait, for the lock of the GPU or a new worker, so the pause behind it is at most the one of ten
/// slices. Making the operands, checking one trial and launching one kernel are not divided.
///
/// It races no baseline and does not compare with cuBLAS, because that takes seconds of the whole GPU. Blocks do too:
/// they throw Error{not_supported}.
class PacedMeasurer final : public Measurer {
 public:
  /// Throws Error{invalid_argument} if the pace is not possible.
  PacedMeasurer(std::unique_ptr<Measurer> measurer, Pace pace, PaceClock clock = PaceClock::system());

  const GpuFacts& gpu() const override { return measurer_->gpu(); }
  void begin(const Workload& problem, const MeasureOptions& options) override;
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override;
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override;
  CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) override;
  void end() override { measurer_->end(); }
  std::string baseline() const override { return {}; }
  int restarts() const override { return measurer_->restarts(); }

  /// The seconds of all pauses so far.
  double paused_s() const { return paused_s_; }

 private:
  class PacedRace;

  /// Runs `step`, and then pauses so long that steps take no more than their share, where a step counts for at most
  /// `most_work_s`. Returns the seconds of the step.
  double paced(const std::function<void()>& step, double most_work_s = std::numeric_limits<double>::infinity());
  void pause(double seconds);
  bool is_cancelled() const { return pace_.is_cancelled && pace_.is_cancelled(); }
  bool is_hurried() const { return pace_.is_hurried && pace_.is_hurried(); }

  std::unique_ptr<Measurer> measurer_;
  Pace pace_;
  PaceClock clock_;
  double paused_s_ = 0;
};

}  // namespace hotgemm
