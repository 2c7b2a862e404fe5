#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "gpu/stopwatch.hpp"
#include "records/tuning_record.hpp"
#include "tune/candidate.hpp"

#include <hotgemm/types.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// A compiled kernel with its launch parameters: what is checked and timed.
struct Trial {
  KernelConfig config;
  LaunchConfig launch;
  std::shared_ptr<const Cubin> cubin;
};

/// How a trial fared: at which stage it ended and why, or no reason for one that is sound.
struct Verdict {
  Stage stage = Stage::chosen;
  std::string reason;

  bool is_sound() const { return reason.empty(); }
};

/// A GPU as the search needs to know it.
struct GpuFacts {
  DeviceInfo info;          ///< with the clocks that the driver states
  Environment environment;  ///< without the toolchain where the process that measures has loaded no NVRTC
  std::int64_t free_bytes = 0;
};

struct MeasureOptions {
  std::int64_t scratch_bytes = std::int64_t{512} << 20;  ///< of device memory, for operands
  std::uint64_t seed = 1;                                ///< of the data
  bool with_baseline = false;                            ///< prepare cuBLAS's fastest too, where there is a cuBLAS
};

/// Runs trials of one problem after the other on one GPU: in this process (DeviceMeasurer) or in another that may die
/// of it (IsolatedMeasurer). Not thread-safe.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual const GpuFacts& gpu() const = 0;

  /// From now on trials are about `problem`: makes its operands. Ends what was begun before. Throws
  /// Error{out_of_memory} if the operands do not fit, and what the driver says of anything that is no trial's fault.
  virtual void begin(const Problem& problem, const MeasureOptions& options) = 0;

  /// Loads each trial and runs it twice on check data (check_exactly), `seed` of which differs from the seed that begin
  /// was given: all of D must be right, and nothing else in the operands' memory written. Returns a verdict each.
  virtual std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) = 0;

  /// Races trials that check has found sound, on N(0,1) data; options.sets is ignored. With `with_baseline`, cuBLAS's
  /// fastest runs among them, and its row comes last; there is none if begin was not asked for it or it could not run.
  virtual RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) = 0;

  /// Frees the problem's operands.
  virtual void end() = 0;

  /// The name of what of cuBLAS races, from begin to end; empty if nothing does.
  virtual std::string baseline() const = 0;

  /// How often the process that measures had to be started again.
  virtual int restarts() const { return 0; }
};

}  // namespace hotgemm
