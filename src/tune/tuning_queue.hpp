#pragma once

#include "tune/tuning_job.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace hotgemm {

/// Hands the jobs of a run from the thread that prepares them to those that measure, one per GPU, and keeps the account
/// of trials. Thread-safe.
class TuningQueue {
 public:
  /// `trials`: how many candidates may be timed. `is_over` is asked now and then, from any thread: once it is true, no
  /// job is handed out.
  TuningQueue(int trials, std::function<bool()> is_over);

  // The thread that prepares.

  /// Waits until another job is worth preparing: one per GPU waits at most, so that little is lost when the run ends.
  /// False if no other will be measured.
  bool wait_for_room();
  void push(TuningJob job);
  /// No job will follow. With `drop`, those that wait are not handed out either.
  void close(bool drop = false);

  // The threads of the GPUs.

  void add_gpu();
  void remove_gpu();
  /// Waits for a job to measure on `gpu`; nullopt when there will be none. A job that `gpu` has failed with is for the
  /// others, as long as there are any.
  std::optional<TuningJob> take(int gpu);
  /// What take has handed out is finished, after `measured` of its trials.
  void finish(const TuningJob& job, int measured);
  /// What take has handed out is to be tried again, before all others.
  void put_back(TuningJob job);

  // When all threads have ended.

  std::size_t gpus() const { return gpus_; }
  int trials_left() const { return trials_left_; }
  const std::deque<TuningJob>& waiting() const { return waiting_; }

 private:
  void return_trials(const TuningJob& job, int measured);

  const std::function<bool()> is_over_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t gpus_ = 0;
  int busy_ = 0;  // jobs handed out, which may come back
  int trials_left_;
  bool is_closed_ = false;
  bool is_dropped_ = false;
  std::deque<TuningJob> waiting_;
};

}  // namespace hotgemm
