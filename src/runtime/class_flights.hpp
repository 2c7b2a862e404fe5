#pragma once

#include "config/class_key.hpp"
#include "runtime/counters.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace hotgemm {

/// The problem classes on which a thread works, such as planning them: one thread at a time on a class. Thread-safe.
class ClassFlights {
 public:
  /// The right to work on a class, until this object ends.
  class Flight {
   public:
    Flight(Flight&& other) noexcept : flights_(std::exchange(other.flights_, nullptr)), key_(other.key_) {}
    Flight& operator=(Flight&&) = delete;
    ~Flight() {
      if (flights_ != nullptr) flights_->end(key_);
    }
    /// False if another thread has the right.
    explicit operator bool() const { return flights_ != nullptr; }

   private:
    friend class ClassFlights;
    Flight(ClassFlights* flights, const ClassKey& key) : flights_(flights), key_(key) {}

    ClassFlights* flights_;
    ClassKey key_;
  };

  /// The right for `key`. Waits while another thread has it, and adds the time to `waits`.
  Flight wait_for(const ClassKey& key, WaitHistogram& waits) {
    std::unique_lock lock(mutex_);
    if (!is_free(key)) {
      const WaitTimer timer(waits);
      ++waiting_;
      landed_.wait(lock, [&] { return is_free(key); });
      --waiting_;
    }
    keys_.push_back(key);
    return {this, key};
  }
  /// The right for `key`, unless another thread has it.
  Flight try_take(const ClassKey& key) {
    const std::lock_guard lock(mutex_);
    if (!is_free(key)) return {nullptr, key};
    keys_.push_back(key);
    return {this, key};
  }
  /// The number of threads that wait.
  int waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  bool is_free(const ClassKey& key) const { return std::ranges::find(keys_, key) == keys_.end(); }
  void end(const ClassKey& key) {
    const std::lock_guard lock(mutex_);
    std::erase(keys_, key);
    landed_.notify_all();
  }

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable landed_;
  std::vector<ClassKey> keys_;
  int waiting_ = 0;
};

}  // namespace hotgemm
