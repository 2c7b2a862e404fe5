#include "tune/tuning_queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::chrono::milliseconds kPoll{50};  // interval at which waiting threads check for the end of the run

}  // namespace

TuningQueue::TuningQueue(int trials, std::function<bool()> is_over)
    : is_over_(std::move(is_over)), trials_left_(trials) {}

bool TuningQueue::wait_for_room() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool is_spent = trials_left_ == 0 && busy_ == 0;
    if (is_over_() || gpus_ == 0 || is_spent) return false;
    // Jobs that were put back wait for a certain GPU, so they do not keep the other GPUs busy.
    const auto fresh = std::ranges::count_if(waiting_, [](const TuningJob& job) { return job.failed_on.empty(); });
    if (static_cast<std::size_t>(fresh) < gpus_ && trials_left_ > 0) return true;
    changed_.wait_for(lock, kPoll);
  }
}

void TuningQueue::push(TuningJob job) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(job));
  changed_.notify_all();
}

void TuningQueue::close(bool drop) {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  is_dropped_ = is_dropped_ || drop;
  changed_.notify_all();
}

void TuningQueue::add_gpu() {
  const std::lock_guard lock(mutex_);
  ++gpus_;
}

void TuningQueue::remove_gpu() {
  const std::lock_guard lock(mutex_);
  --gpus_;
  changed_.notify_all();
}

std::optional<TuningJob> TuningQueue::take(int gpu) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool is_done = is_closed_ && waiting_.empty() && busy_ == 0;
    const bool is_spent = trials_left_ == 0 && busy_ == 0;
    if (is_over_() || is_dropped_ || is_done || is_spent) return std::nullopt;
    const auto job = std::ranges::find_if(
        waiting_, [&](const TuningJob& waiting) { return gpus_ == 1 || !waiting.failed_on.contains(gpu); });
    if (job != waiting_.end() && trials_left_ > 0) {
      TuningJob taken = std::move(*job);
      waiting_.erase(job);
      limit_trials(taken, trials_left_);
      trials_left_ -= taken.trials;
      ++busy_;
      changed_.notify_all();
      return taken;
    }
    changed_.wait_for(lock, kPoll);
  }
}

void TuningQueue::finish(const TuningJob& job, int measured) {
  const std::lock_guard lock(mutex_);
  return_trials(job, measured);
}

void TuningQueue::put_back(TuningJob job) {
  const std::lock_guard lock(mutex_);
  return_trials(job, 0);
  waiting_.push_front(std::move(job));
}

void TuningQueue::return_trials(const TuningJob& job, int measured) {
  trials_left_ += job.trials - measured;
  --busy_;
  changed_.notify_all();
}

}  // namespace hotgemm
