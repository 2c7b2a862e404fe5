#include "command/tune_progress.hpp"

#include "command/problem_options.hpp"
#include "command/tune_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hotgemm::command {

TuneProgress::TuneProgress(std::size_t total, bool several_gpus, bool quiet)
    : progress_("tune", quiet), total_(total), several_gpus_(several_gpus) {}

std::string TuneProgress::heading(const Workload& problem) const {
  return fmt::format("[{}/{}] {}: ", std::min(done_ + 1, total_), total_, label(problem));
}

void TuneProgress::began(int gpu, const Workload& problem) {
  current_[gpu] = problem;
  progress_.live(heading(problem) + "checking candidates");
}

void TuneProgress::led(int gpu, const RaceLeader& leader) {
  std::string text = several_gpus_ ? fmt::format("GPU {} ", gpu) : "";
  text += heading(current_[gpu]) + fmt::format("best {:.1f} us, ", leader.median_us);
  if (std::isfinite(leader.ratio)) text += fmt::format("{:.2f} of cuBLAS, ", leader.ratio);
  // The name is last, because a narrow terminal may cut it off.
  progress_.live(text + fmt::format("{} left: {} {}", leader.alive, leader.config, leader.launch));
}

void TuneProgress::finished(const ProblemResult& result) {
  progress_.line(heading(result.problem) + summary(result));
  ++done_;
}

}  // namespace hotgemm::command
