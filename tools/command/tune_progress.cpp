#include "command/tune_progress.hpp"

#include "command/problem_options.hpp"
#include "command/tune_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace hotgemm::command {

TuneProgress::TuneProgress(std::size_t total, bool several_gpus, bool quiet)
    : progress_("tune", quiet), total_(total), several_gpus_(several_gpus) {
  pace_.add(0, WorkPace::Clock::now());
}

std::string TuneProgress::heading(const Workload& problem, const std::string& left) const {
  return fmt::format("[{}/{}{}] {}: ", std::min(done_ + 1, total_), total_, left, label(problem));
}

std::string TuneProgress::time_left() const {
  const std::optional<std::chrono::seconds> left = pace_.left(total_);
  return left ? ", " + readable_time(*left) + " left" : "";
}

void TuneProgress::began(int gpu, const Workload& problem) {
  current_[gpu] = problem;
  progress_.live(heading(problem, time_left()) + "checking candidates");
}

void TuneProgress::led(int gpu, const RaceLeader& leader) {
  std::string text = several_gpus_ ? fmt::format("GPU {} ", gpu) : "";
  text += heading(current_[gpu], time_left()) + fmt::format("best {:.1f} us, ", leader.median_us);
  if (std::isfinite(leader.ratio)) text += fmt::format("{:.2f} of cuBLAS, ", leader.ratio);
  // The name is last, because a narrow terminal may cut it off.
  progress_.live(text + fmt::format("{} left: {} {}", leader.alive, leader.config, leader.launch));
}

void TuneProgress::finished(const ProblemResult& result) {
  progress_.line(heading(result.problem) + summary(result));
  ++done_;
  pace_.add(done_, WorkPace::Clock::now());
}

}  // namespace hotgemm::command
