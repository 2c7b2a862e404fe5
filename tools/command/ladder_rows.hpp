#pragma once

#include "command/ladder_selection.hpp"
#include "config/device_info.hpp"
#include "config/occupancy.hpp"
#include "ladder/roofline.hpp"
#include "runtime/engine.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hotgemm::command {

/// How far a row came.
enum class LadderOutcome {
  sound,
  refused,  ///< it exceeds a limit, or its family has no such kernel: not a fault of anything
  failed,   ///< to compile, to load or to run
  wrong,    ///< its numbers are
};

/// A rung on one problem: what it is, what it costs, how fast it is.
struct LadderRow {
  LadderEntry entry;
  LaunchConfig launch;
  std::string swizzle;  ///< columns of a strip of the block swizzle, "NOOP" without; of --config the raster
  Roofline roofline;
  bool is_candidate = false;  ///< of the tuner, and no rung alone
  LadderOutcome outcome = LadderOutcome::sound;
  std::string reason;  ///< why it is not sound, or was not timed

  std::int64_t blocks = 0;  ///< of the grid; these are of our kernels only
  int smem_bytes = 0;       ///< of a block
  std::shared_ptr<const Cubin> cubin;
  Occupancy occupancy;

  std::vector<double> samples;  ///< the first elements of D, of normal data
  std::vector<double> us;       ///< a launch, by round

  bool is_ours() const { return entry.config.has_value(); }
  bool goes_on() const { return reason.empty(); }
  void end(LadderOutcome how, std::string why) {
    outcome = how;
    reason = std::move(why);
  }
};

/// The rows of a problem on `device`. Those that need not be compiled to be refused are.
std::vector<LadderRow> planned_rows(const LadderProblem& problem, const DeviceInfo& device);

/// Compiles the kernels of rows that go on for `device`; refuses those of which no block has room on an SM.
/// `done` is called after each with how many there are, and returns whether to go on.
void build_rows(std::vector<LadderRow>& rows, const Workload& problem, const DeviceInfo& device, Engine& engine,
                int jobs, const std::function<bool(std::size_t done, std::size_t total)>& done);

}  // namespace hotgemm::command
