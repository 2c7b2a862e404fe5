#pragma once

#include "base/readers.hpp"

#include <hotgemm/context.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hotgemm {

/// A WaitTimes that threads add to. Thread-safe, without locks.
class WaitHistogram {
 public:
  void add(std::chrono::nanoseconds time) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
    ++buckets_[std::min<std::size_t>(std::bit_width(ns / 1000), WaitTimes::kBuckets - 1)];
    total_ns_ += ns;
  }
  WaitTimes read() const noexcept {
    WaitTimes times;
    for (std::size_t i = 0; i < times.buckets.size(); ++i) times.count += times.buckets[i] = buckets_[i];
    times.total_s = static_cast<double>(total_ns_) * 1e-9;
    return times;
  }

 private:
  std::array<std::atomic<std::uint64_t>, WaitTimes::kBuckets> buckets_{};
  std::atomic<std::uint64_t> total_ns_{0};
};

/// Adds the time from its construction to its destruction to a histogram.
class WaitTimer {
 public:
  explicit WaitTimer(WaitHistogram& histogram) : histogram_(histogram) {}
  ~WaitTimer() { histogram_.add(elapsed()); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - start_; }

 private:
  WaitHistogram& histogram_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "12.3 ms", for messages.
std::string to_ms(std::chrono::nanoseconds time);

/// Counts of events in all CUDA contexts of a Context.
struct Counters {
  ThreadCounter launches;
  ThreadCounter declined;
  std::atomic<std::uint64_t> refused_cubins{0};
  WaitHistogram planning, compiling, tuning, waiting;
};

}  // namespace hotgemm
