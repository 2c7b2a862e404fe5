#pragma once

#include "tune/measurer.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hotgemm {

struct WorkerOptions {
  std::filesystem::path program;  ///< absolute path of the hotgemm command
  int device = 0;                 ///< the GPU, counted from 0 as the driver does
  std::string cache_directory;    ///< as ContextOptions has it
  double hang_timeout_s = 2.0;    ///< a step may take this long, and twenty times what it is expected to take
  bool allow_mps = false;         ///< measure although other processes use the GPU through MPS
};

/// Measures in a worker process, so that a kernel that faults, hangs or corrupts memory costs its own row and no more:
/// the worker is killed, another one started, and the rest goes on.
///
/// The worker is spawned by `program`, not forked: this process may have used CUDA or not. It ends itself after any
/// error that has taken its CUDA context, and when this process is gone.
///
/// A worker that is killed from outside, by hand or for lack of memory, is nobody's fault: what it was doing is done
/// again. One that crashes in its own code is believed the second time. What a dead worker costs does not count against
/// a race's deadline.
class IsolatedMeasurer final : public Measurer {
 public:
  /// Starts the worker and waits for the facts about its GPU. Throws Error{no_driver, no_device, io_error},
  /// Error{not_supported} where other processes share the GPU through MPS, and Error{context_lost} if it cannot start.
  explicit IsolatedMeasurer(WorkerOptions options);
  ~IsolatedMeasurer() override;

  const GpuFacts& gpu() const override;
  void begin(const Workload& problem, const MeasureOptions& options) override;
  /// A trial that ended the worker gets a verdict that says how: "hung: …", "faulted: …". Throws Error{internal} if the
  /// worker keeps being killed from outside; as do begin and race.
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override;
  /// Where a round that runs several trials ends the worker, each is raced alone to find the guilty one. If none is,
  /// the baseline is left out of later attempts. Throws Error{internal} if the worker keeps dying all the same.
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override;
  void end() override;
  std::string baseline() const override;

  /// Workers started beyond the first.
  int restarts() const override;
  /// The running worker's process id; -1 between two. May be asked from any thread.
  int pid() const;

 private:
  struct Impl;
  class Race;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotgemm
