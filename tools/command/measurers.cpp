#include "command/measurers.hpp"

#include "command/progress.hpp"
#include "gpu/device.hpp"
#include "runtime/device_state.hpp"
#include "tune/device_measurer.hpp"
#include "tune/paced_measurer.hpp"
#include "worker/isolated_measurer.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace hotgemm::command {
namespace {

/// A DeviceMeasurer together with its CUDA context, which is current on the thread that makes it.
class InProcessMeasurer final : public Measurer {
 public:
  InProcessMeasurer(Engine& engine, int gpu)
      : context_(Driver::get(), gpu), device_(Driver::get(), engine), measurer_(device_) {
    measurer_.ask_nvml();
  }

  const GpuFacts& gpu() const override { return measurer_.gpu(); }
  void begin(const Workload& problem, const MeasureOptions& options) override { measurer_.begin(problem, options); }
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override {
    return measurer_.check(trials, seed);
  }
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override {
    return measurer_.race(trials, options, with_baseline);
  }
  CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) override {
    return measurer_.compare_with_cublas(pick, question);
  }
  void end() override { measurer_.end(); }
  std::string baseline() const override { return measurer_.baseline(); }

 private:
  PrimaryContext context_;
  DeviceState device_;
  DeviceMeasurer measurer_;
};

}  // namespace

MeasurerFactory measurer_factory(Engine& engine, const MeasurerOptions& options) {
  if (options.gpu_share < 1) {
    MeasurerOptions unpaced = options;
    unpaced.gpu_share = 1;
    const Pace pace{.share = options.gpu_share, .is_cancelled = [] { return is_interrupted(); }};
    return [factory = measurer_factory(engine, unpaced), pace](int gpu) -> std::unique_ptr<Measurer> {
      return std::make_unique<PacedMeasurer>(factory(gpu), pace);
    };
  }
  if (options.in_process) {
    return [&engine](int gpu) -> std::unique_ptr<Measurer> { return std::make_unique<InProcessMeasurer>(engine, gpu); };
  }
  return [options, program = std::filesystem::read_symlink("/proc/self/exe")](int gpu) -> std::unique_ptr<Measurer> {
    return std::make_unique<IsolatedMeasurer>(WorkerOptions{.program = program,
                                                            .device = gpu,
                                                            .cache_directory = options.cache_directory,
                                                            .hang_timeout_s = options.hang_timeout_s,
                                                            .allow_mps = options.allow_mps});
  };
}

}  // namespace hotgemm::command
