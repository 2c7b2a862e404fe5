#pragma once

#include "tune/measurer.hpp"

#include <hotgemm/cache.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {

struct WorkerOptions {
  std::filesystem::path program;        ///< absolute path of the hotgemm command
  int device = 0;                       ///< index of the GPU in the driver's order, from 0
  std::string cache_directory;          ///< as in ContextOptions
  std::optional<CacheMode> cache_mode;  ///< as in CacheOptions
  double hang_timeout_s = 2.0;          ///< limit for a step: this time plus twenty times the expected time
  bool allow_mps = false;               ///< measure even if other processes use the GPU through MPS
  /// At this time races end. Half a second later the worker is killed, whatever it does, and the question that it was
  /// asked throws Error{driver_error}; but end() throws nothing then.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// Measures in a worker process. If a kernel faults, hangs or corrupts memory, only its own row is lost: the worker is
/// killed, a new one is started, and the work continues.
///
/// The worker is `program`, spawned and not forked, so this process may have used CUDA. The worker ends itself after
/// any error that destroyed its CUDA context, and when this process is gone.
///
/// If another process or the out-of-memory killer kills a worker, no trial is blamed, and the worker's step is
/// repeated. If a worker crashes in its own code, its trial is blamed the second time. The time that a dead worker took
/// does not count against the deadline of a race.
class IsolatedMeasurer final : public Measurer {
 public:
  /// Starts the worker and waits until it reports its GPU. Throws Error{no_driver, no_device, io_error},
  /// Error{io_error} if the program is another version of hotgemm, Error{not_supported} if other processes share the
  /// GPU through MPS, and Error{context_lost} if the worker cannot start.
  explicit IsolatedMeasurer(WorkerOptions options);
  ~IsolatedMeasurer() override;

  const GpuFacts& gpu() const override;
  void begin(const Workload& problem, const MeasureOptions& options) override;
  /// A trial that ended the worker gets a verdict with the way it ended: "hung: …", "faulted: …". Throws
  /// Error{internal} if other processes kill the worker again and again; begin and race do the same.
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override;
  /// If the worker ends in a round that runs several trials, each trial is raced alone to find the one to blame. If
  /// none is found, later attempts leave out the baseline. Throws Error{internal} if the worker still keeps dying.
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override;
  CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) override;
  /// A worker that ends meanwhile, reports an error or runs out of time is lost, and the results stay. Throws
  /// Error{context_lost} if the worker cannot be killed.
  void end() override;
  std::string baseline() const override;

  /// The number of workers started after the first one.
  int restarts() const override;
  /// The process id of the running worker; -1 between two workers. Any thread may call it.
  int pid() const;

 private:
  struct Impl;
  class Race;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotgemm
