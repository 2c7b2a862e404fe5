#pragma once

#include "tune/tuning_job.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace hotgemm {

/// Passes the jobs of a run from the preparing thread to the measuring threads, one per GPU, and counts trials.
/// Thread-safe.
class TuningQueue {
 public:
  /// `trials` is the number of candidates that may be timed. `is_over` is called now and then, from any thread; once it
  /// returns true, no job is handed out.
  TuningQueue(int trials, std::function<bool()> is_over);

  // For the preparing thread.

  /// Waits until the queue needs another job. At most one job per GPU waits, so that little work is lost when the run
  /// ends. Returns false if no other job will be measured.
  bool wait_for_room();
  void push(TuningJob job);
  /// Ends the queue: no job will follow. With `drop`, waiting jobs are not handed out either.
  void close(bool drop = false);

  // For the measuring threads.

  void add_gpu();
  void remove_gpu();
  /// Waits for a job to measure on `gpu`; nullopt if there will be none. A job that has failed on `gpu` is left to
  /// other GPUs, as long as there are others.
  std::optional<TuningJob> take(int gpu);
  /// Reports that a job from take is finished and that `measured` of its trials were used.
  void finish(const TuningJob& job, int measured);
  /// Returns a job from take to the front of the queue, to be tried again.
  void put_back(TuningJob job);

  // For use when all threads have ended.

  std::size_t gpus() const { return gpus_; }
  int trials_left() const { return trials_left_; }
  const std::deque<TuningJob>& waiting() const { return waiting_; }

 private:
  void return_trials(const TuningJob& job, int measured);

  const std::function<bool()> is_over_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::size_t gpus_ = 0;
  int busy_ = 0;  // jobs handed out; put_back may return them
  int trials_left_;
  bool is_closed_ = false;
  bool is_dropped_ = false;
  std::deque<TuningJob> waiting_;
};

}  // namespace hotgemm
