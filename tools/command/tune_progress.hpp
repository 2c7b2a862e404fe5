#pragma once

#include "base/work_pace.hpp"
#include "command/progress.hpp"
#include "tune/tuning_run.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace hotgemm::command {

/// Shows the state of a tuning run on stderr: the current problem with its best result so far, and a permanent line for
/// each finished problem. Not thread-safe.
class TuneProgress {
 public:
  TuneProgress(std::size_t total, bool several_gpus, bool quiet);

  void began(int gpu, const Workload& problem);
  void led(int gpu, const RaceLeader& leader);
  void finished(const ProblemResult& result);
  void line(const std::string& text) { progress_.line(text); }

 private:
  std::string heading(const Workload& problem, const std::string& left = {}) const;
  std::string time_left() const;

  Progress progress_;
  std::size_t total_;
  std::size_t done_ = 0;
  WorkPace pace_;
  bool several_gpus_;
  std::map<int, Workload> current_;  // keyed by GPU
};

}  // namespace hotgemm::command
