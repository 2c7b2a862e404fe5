#pragma once

#include "command/ladder_selection.hpp"
#include "command/matrix_corners.hpp"
#include "config/device_info.hpp"
#include "config/occupancy.hpp"
#include "gpu/cubin_memory.hpp"
#include "ladder/roofline.hpp"
#include "runtime/engine.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm::command {

/// The outcome of a row.
enum class LadderOutcome {
  sound,
  refused,  ///< it exceeds a limit, or its family has no such kernel; this is not an error
  failed,   ///< it did not compile, load or run
  wrong,    ///< its results are wrong
};

/// A rung on one problem: its kernel, its resources and its times.
struct LadderRow {
  LadderEntry entry;
  LaunchConfig launch;
  std::string swizzle;  ///< columns of a strip of the block swizzle, or "NOOP"; for --config: the raster
  Roofline roofline;
  bool is_candidate = false;  ///< true if the tuner tries it; false for kernels that only the ladder has
  LadderOutcome outcome = LadderOutcome::sound;
  std::string reason;  ///< why it is not sound, or why it was not timed

  bool is_torch = false;  ///< PyTorch's product, timed in a process of its own

  // The following members are only for our kernels.
  std::int64_t blocks = 0;   ///< of the grid
  std::int64_t tiles_n = 0;  ///< tiles of D next to each other, which are the grid as the material has it
  std::int64_t tiles_m = 0;  ///< and below each other
  int smem_bytes = 0;        ///< per block
  std::shared_ptr<const Cubin> cubin;
  std::optional<CubinMemory> memory;
  Occupancy occupancy;

  std::vector<double> samples;  ///< the first elements of D, computed from normal data
  std::vector<double> us;       ///< microseconds per launch, by round
  std::optional<MatrixCorners> corners;

  bool is_ours() const { return entry.config.has_value(); }
  bool is_cublas() const { return !is_ours() && !is_torch; }
  bool goes_on() const { return reason.empty(); }
  void end(LadderOutcome how, std::string why) {
    outcome = how;
    reason = std::move(why);
  }
};

/// The rows of a problem on `device`. A row that can be refused without compiling is already refused. If
/// `swizzle_factor` is positive, strips of the block swizzle have that part of D's columns.
std::vector<LadderRow> planned_rows(const LadderProblem& problem, const DeviceInfo& device, double swizzle_factor);

/// Compiles the kernels of the remaining rows for `device`. Refuses a row if no block of it fits on an SM. `done` is
/// called after each kernel with the number of kernels so far; it returns false to stop.
void build_rows(std::vector<LadderRow>& rows, const Workload& problem, const DeviceInfo& device, Engine& engine,
                int jobs, const std::function<bool(std::size_t done, std::size_t total)>& done);

}  // namespace hotgemm::command
