#pragma once

#include "gpu/cublas.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "runtime/device_state.hpp"
#include "tune/measurer.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace hotgemm {

/// Measures in this process, in the current CUDA context. A trial that destroys the context causes
/// Error{context_lost}. If a trial hangs, the measurer waits for ever.
///
/// Between `begin` and `end` it holds the lock of its GPU. If another measurer of this user keeps it, `begin` throws
/// Error{interrupted} at the deadline, without one Error{io_error} after GpuLock::kDefaultWait. Stream captures of the
/// program stay valid in this time.
class DeviceMeasurer final : public Measurer {
 public:
  static constexpr std::size_t kNoTrial = static_cast<std::size_t>(-1);
  /// Called before each step with the index of the trial that the step runs, or with kNoTrial if the step runs several
  /// trials or none. The index counts the trials of the current call.
  using OnStep = std::function<void(std::size_t trial)>;

  explicit DeviceMeasurer(DeviceState& device, OnStep on_step = {});
  ~DeviceMeasurer() override;

  const GpuFacts& gpu() const override { return gpu_; }
  /// Adds what NVML says about power to the facts about the GPU. Not done at once, because a program that tunes within
  /// a call should not load NVML for it.
  void ask_nvml();
  void begin(const Workload& problem, const MeasureOptions& options) override;
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override;
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override;
  CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) override;
  void end() override;
  std::string baseline() const override;

 private:
  struct Session;  // one problem, between `begin` and `end`

  /// The fastest algorithm of cuBLAS in the mode of `race`, found as that race times it at the first call; nullopt if
  /// cuBLAS cannot run.
  const std::optional<Contender>& baseline(const RaceOptions& race);

  CublasBaseline& cublas();
  Contender contender(const Trial& trial, std::span<const OperandSet> sets);

  DeviceState& device_;
  OnStep on_step_;
  GpuFacts gpu_;
  std::unique_ptr<CublasBaseline> cublas_;
  std::unique_ptr<Session> session_;
};

}  // namespace hotgemm
