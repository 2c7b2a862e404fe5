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

/// Measures in this process, in the CUDA context that is current. A trial that takes the context with it ends in
/// Error{context_lost}; one that hangs is waited for.
///
/// From begin to end it holds the device's tuning mutex, and the thread's captures elsewhere go on undisturbed.
class DeviceMeasurer final : public Measurer {
 public:
  static constexpr std::size_t kNoTrial = static_cast<std::size_t>(-1);
  /// Called before each step with the index, among the trials at hand, of the one that the step runs; kNoTrial where it
  /// runs several, or none.
  using OnStep = std::function<void(std::size_t trial)>;

  explicit DeviceMeasurer(DeviceState& device, OnStep on_step = {});
  ~DeviceMeasurer() override;

  const GpuFacts& gpu() const override { return gpu_; }
  void begin(const Workload& problem, const MeasureOptions& options) override;
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override;
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override;
  void end() override;
  std::string baseline() const override;

 private:
  struct Session;  // of one problem: from begin to end

  /// cuBLAS's fastest in `mode`, found when first asked for; nullopt where it does not run.
  const std::optional<Contender>& baseline(TimingMode mode);

  DeviceState& device_;
  OnStep on_step_;
  GpuFacts gpu_;
  std::unique_ptr<CublasBaseline> cublas_;
  std::unique_ptr<Session> session_;
};

}  // namespace hotgemm
