#pragma once

#include "runtime/engine.hpp"
#include "tune/tuning_run.hpp"

#include <string>

namespace hotgemm::command {

/// The options for making measurers.
struct MeasurerOptions {
  bool in_process = false;  ///< no worker process: a profiler sees the kernels, and a bad kernel ends the run
  double hang_timeout_s = 2.0;
  bool allow_mps = false;
  double gpu_share = 1;         ///< as in TuningRunOptions
  std::string cache_directory;  ///< as in ContextOptions
};

/// Makes measurers according to `options`. `engine` must outlive them. Without in_process, this process does not use
/// CUDA.
MeasurerFactory measurer_factory(Engine& engine, const MeasurerOptions& options);

}  // namespace hotgemm::command
