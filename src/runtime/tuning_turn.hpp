#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hotgemm {

/// A right that one thread at a time has, and for which others wait until a deadline. (ThreadSanitizer does not know
/// the timed lock of a mutex.)
class TuningTurn {
 public:
  using Clock = std::chrono::steady_clock;

  /// The right, from construction to destruction, if it became free before `deadline`.
  class Held {
   public:
    Held(TuningTurn& turn, Clock::time_point deadline) : turn_(turn) {
      std::unique_lock lock(turn_.mutex_);
      const auto is_free = [&] { return !turn_.is_taken_; };
      if (deadline == Clock::time_point::max()) {
        turn_.freed_.wait(lock, is_free);
      } else if (!turn_.freed_.wait_until(lock, deadline, is_free)) {
        return;
      }
      has_it_ = turn_.is_taken_ = true;
    }
    ~Held() {
      if (!has_it_) return;
      const std::lock_guard lock(turn_.mutex_);
      turn_.is_taken_ = false;
      turn_.freed_.notify_one();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    explicit operator bool() const { return has_it_; }

   private:
    TuningTurn& turn_;
    bool has_it_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool is_taken_ = false;
};

}  // namespace hotgemm
