#pragma once

#include "runtime/engine.hpp"
#include "tune/tuning_run.hpp"

#include <string>

namespace hotgemm::command {

/// How GPUs are measured on.
struct MeasurerOptions {
  bool in_process = false;  ///< without a worker: a profiler sees the kernels, and a bad one ends the run
  double hang_timeout_s = 2.0;
  bool allow_mps = false;
  std::string cache_directory;  ///< as ContextOptions has it
};

/// Measurers as `options` want them; `engine` lives longer. Without in_process, nothing of CUDA is used here.
MeasurerFactory measurer_factory(Engine& engine, const MeasurerOptions& options);

}  // namespace hotgemm::command
