#pragma once

#include <algorithm>
#include <chrono>

namespace hotgemm {

using Moment = std::chrono::steady_clock::time_point;

/// The moment `seconds` after `start`, but at most 1e9 seconds after it, so that no clock overflows. Not for NaN.
inline Moment moment_after(Moment start, double seconds) {
  const std::chrono::duration<double> bounded(std::min(seconds, 1e9));
  return start + std::chrono::duration_cast<Moment::duration>(bounded);
}

inline double seconds_between(Moment start, Moment end) { return std::chrono::duration<double>(end - start).count(); }
inline double seconds_since(Moment start) { return seconds_between(start, std::chrono::steady_clock::now()); }

}  // namespace hotgemm
