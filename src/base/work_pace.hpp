#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace hotgemm {

/// The pace of work that is counted, and the time that is left at it. Only the latest counts matter: kernels that are
/// cached take no time, those that follow do.
class WorkPace {
 public:
  using Clock = std::chrono::steady_clock;

  /// `done` of the work was done at `now`. A smaller number than before begins other work.
  void add(std::size_t done, Clock::time_point now);
  /// The time from the latest count to `total`; nothing before a second of work.
  std::optional<std::chrono::seconds> left(std::size_t total) const;

 private:
  struct Count {
    std::size_t done;
    Clock::time_point at;
  };
  std::deque<Count> counts_;
};

/// "45 s", "12 min", "3 h 05 min"
std::string readable_time(std::chrono::seconds time);

}  // namespace hotgemm
