#pragma once

#include "runtime/device_state.hpp"
#include "tune/tune.hpp"

#include <hotgemm/context.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace hotgemm {

/// The place where a Context measures kernels: a worker process, or this process if there can be none. Thread-safe.
class TuningPlace {
 public:
  /// Looks for the worker's program: ContextOptions::worker, else HOTGEMM_WORKER, else the command installed with the
  /// library. It is never the program that this process runs.
  explicit TuningPlace(const ContextOptions& options);

  /// The function that starts a worker for `device`; empty if there is no program. The function returns nullptr, so
  /// that this process measures, if the GPU is exclusive to one process or has too little free memory for a second
  /// context, and if the worker does not start. It throws Error{not_supported} if other processes share the GPU through
  /// MPS. The first time, and when the answer changes, the log says at "info" which place it is and why.
  MakeMeasurer measurer(const DeviceState& device, const TuneOptions& options);

 private:
  std::unique_ptr<Measurer> start(const DeviceState& device, const TuneOptions& options, int ordinal,
                                  std::chrono::steady_clock::time_point deadline);
  void tell(const std::string& place);

  std::filesystem::path program_;
  std::string cache_directory_;
  std::optional<CacheMode> cache_mode_;
  std::string why_none_;  // the reason if there is no program
  std::mutex mutex_;      // guards `told_`
  std::string told_;
};

}  // namespace hotgemm
