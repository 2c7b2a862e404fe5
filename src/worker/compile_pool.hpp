#pragma once

#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"
#include "worker/child_process.hpp"
#include "worker/compile_record.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hotgemm {

struct CompilePoolOptions {
  std::filesystem::path program;       ///< absolute path of the hotgemm command
  std::vector<std::string> arguments;  ///< arguments with which the command calls run_compile_worker
  int workers = 1;
  std::chrono::milliseconds deadline{60'000};  ///< for one kernel
  std::chrono::milliseconds start_deadline{30'000};
  /// Compiles in this process if no worker can be started. By default, that is Nvrtc::compile.
  std::function<Cubin(const KernelSource&)> here;
};

/// Compiles in worker processes; each compiles one kernel at a time. Several NVRTC threads in one process slow each
/// other down, and a compiler that crashes or hangs then loses only its own kernel. Workers start when they are first
/// needed, are replaced when they die, and end with the pool. If the system lets fewer of them start, the pool goes on
/// with those, and without any it compiles in this process, after a warning.
class CompilePool {
 public:
  /// Starts no worker yet. Workers compile with the files of `bundle` as they are at this moment.
  CompilePool(CompilePoolOptions options, const TemplateBundle& bundle);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Like Nvrtc::compile, but waits until a worker is free. Throws the error that compiling threw in the worker. Throws
  /// Error{compile_failed} if the worker died or was killed at the deadline. Thread-safe.
  Cubin compile(const KernelSource& source);

  /// The process ids of the workers that are waiting for a kernel.
  std::vector<int> idle_pids() const;

 private:
  using Worker = std::unique_ptr<ChildProcess>;
  class Turn;

  Worker start() const;
  bool start_for(Turn& turn) const;
  Cubin compile_here(const KernelSource& source) const;

  CompilePoolOptions options_;
  FrameBody bundle_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Worker> idle_;
  int workers_;   // at most so many at once: fewer than wanted, or none, if some could not be started
  int busy_ = 0;  // workers that are compiling or about to be started
};

}  // namespace hotgemm
