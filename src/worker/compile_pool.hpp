#pragma once

#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"
#include "worker/child_process.hpp"
#include "worker/compile_record.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hotgemm {

struct CompilePoolOptions {
  std::filesystem::path program;       ///< absolute path of the hotgemm command
  std::vector<std::string> arguments;  ///< those that make it call run_compile_worker
  int workers = 1;
  std::chrono::milliseconds deadline{60'000};  ///< of one kernel
  std::chrono::milliseconds start_deadline{30'000};
};

/// Compiles in worker processes, each one kernel at a time: NVRTC's threads within one process get in each other's way,
/// and a compiler that crashes or does not end costs its kernel and no more. Workers start when they are first needed,
/// are replaced when they die, and end with the pool.
class CompilePool {
 public:
  /// Starts nothing yet. Workers compile with the files of `bundle` as they are now.
  CompilePool(CompilePoolOptions options, const TemplateBundle& bundle);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// As Nvrtc::compile; waits for a worker where all are busy. Throws what that throws in the worker,
  /// Error{compile_failed} that says so where the worker died or was killed at the deadline, and Error{io_error} where
  /// none can be started. Thread-safe.
  Cubin compile(const KernelSource& source);

  /// Of the workers that wait for a kernel.
  std::vector<int> idle_pids() const;

 private:
  using Worker = std::unique_ptr<ChildProcess>;
  class Turn;

  Worker start() const;

  CompilePoolOptions options_;
  FrameBody bundle_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Worker> idle_;
  int busy_ = 0;  // workers at work, or about to be started
};

}  // namespace hotgemm
