#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace hotgemm {

/// A right that one thread at a time has, and for which others wait until a deadline. (ThreadSanitizer does not know
/// the timed lock of a mutex.)
class TuningTurn {
 public:
  using Clock = std::chrono::steady_clock;

  /// The right, from construction to destruction, if it became free before `deadline`.
  class Held {
   public:
    Held(TuningTurn& turn, Clock::time_point deadline) {
      std::unique_lock lock(turn.mutex_);
      if (!turn.freed_.wait_until(lock, deadline, [&] { return !turn.is_taken_; })) return;
      turn.is_taken_ = true;
      turn_ = &turn;
    }
    ~Held() {
      if (turn_ == nullptr) return;
      const std::lock_guard lock(turn_->mutex_);
      turn_->is_taken_ = false;
      turn_->freed_.notify_one();
    }
    Held(Held&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    explicit operator bool() const { return turn_ != nullptr; }

   private:
    TuningTurn* turn_ = nullptr;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool is_taken_ = false;
};

}  // namespace hotgemm
