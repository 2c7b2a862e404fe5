#include "base/work_pace.hpp"

#include <cstdint>
#include <string>

namespace hotgemm {
namespace {

constexpr std::size_t kCounts = 64;
constexpr std::chrono::seconds kLeast{1};

}  // namespace

void WorkPace::add(std::size_t done, Clock::time_point now) {
  if (!counts_.empty() && done < counts_.back().done) counts_.clear();
  counts_.push_back({done, now});
  if (counts_.size() > kCounts) counts_.pop_front();
}

std::optional<std::chrono::seconds> WorkPace::left(std::size_t total) const {
  if (counts_.size() < 2) return std::nullopt;
  const auto time = counts_.back().at - counts_.front().at;
  const std::size_t work = counts_.back().done - counts_.front().done;
  if (time < kLeast || work == 0 || total < counts_.back().done) return std::nullopt;
  const double seconds = std::chrono::duration<double>(time).count() / static_cast<double>(work) *
                         static_cast<double>(total - counts_.back().done);
  return std::chrono::seconds(static_cast<std::int64_t>(seconds + 0.5));
}

std::string readable_time(std::chrono::seconds time) {
  const auto minutes = (time.count() + 30) / 60;
  if (time.count() < 120) return std::to_string(time.count()) + " s";
  if (minutes < 120) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + (minutes % 60 < 10 ? "0" : "") + std::to_string(minutes % 60) + " min";
}

}  // namespace hotgemm
