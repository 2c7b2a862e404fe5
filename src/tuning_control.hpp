#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

namespace hotgemm {

/// The permission to tune, for all threads of a Context: whether tuning is paused, how often it was cancelled, and the
/// time that is left of a total. Thread-safe.
class TuningControl {
 public:
  using Clock = std::chrono::steady_clock;

  /// The time set apart for one tuning, from construction to destruction. Then the time that it took counts as used,
  /// also if that is more than was set apart.
  class Share {
   public:
    Share(Share&& other) noexcept
        : control_(std::exchange(other.control_, nullptr)),
          seconds_(other.seconds_),
          generation_(other.generation_),
          start_(other.start_) {}
    Share& operator=(Share&&) = delete;
    ~Share();

    /// False if tuning may not begin.
    explicit operator bool() const { return control_ != nullptr; }
    /// The time that the tuning may take.
    double seconds() const { return seconds_; }
    /// True if tuning was cancelled since the share was taken.
    bool is_cancelled() const { return control_ != nullptr && control_->generation() != generation_; }

   private:
    friend class TuningControl;
    Share(TuningControl* control, double seconds, std::uint64_t generation)
        : control_(control), seconds_(seconds), generation_(generation) {}

    TuningControl* control_;
    double seconds_;
    std::uint64_t generation_;
    Clock::time_point start_ = Clock::now();
  };

  /// All tunings together may take `total_s` seconds. Throws Error{invalid_argument} if that is negative or NaN.
  explicit TuningControl(double total_s = std::numeric_limits<double>::infinity());

  /// True unless tuning is paused, or no time is left. Takes no lock.
  bool may_begin() const { return may_begin_.load(std::memory_order_acquire); }
  /// Sets at most `most_s` seconds apart, less if less is left. An empty share if tuning may not begin.
  Share begin(double most_s);
  /// Counts time that was not set apart as used.
  void add_used(double seconds);
  double used_s() const;
  /// The time that is neither used nor set apart, at least 0.
  double left_s() const;

  void pause();
  void resume();
  bool is_paused() const;
  /// Ends the tunings that go on: their shares are cancelled. Later ones may begin.
  void cancel();
  /// The number of cancellations.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  void end(double set_apart_s, double used_s);
  double left() const;
  void changed();

  const double total_s_;
  mutable std::mutex mutex_;  // guards the members below, but for reading the atomic ones
  bool is_paused_ = false;
  double used_s_ = 0;
  double set_apart_s_ = 0;
  std::atomic<bool> may_begin_{true};
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace hotgemm
