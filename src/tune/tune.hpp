#pragma once

#include "runtime/device_state.hpp"
#include "tune/search.hpp"

#include <hotgemm/context.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace hotgemm {

/// The options of a search, taken from the options of a call.
SearchOptions search_options(const TuneOptions& options);

/// The candidates of a tuning within a call: first the one that Policy::estimate picks, then the fastest predicted
/// ones. Throws the errors of pick_candidates.
std::vector<Candidate> tuning_candidates(DeviceState& device, const Workload& problem, int count);

/// The predicted microseconds of a launch of `choice`.
double predicted_us(const DeviceState& device, const Workload& problem, const Choice& choice);
/// The bytes that operands may take on a GPU that has `free_bytes` left: the smaller one of scratch_bytes and
/// scratch_share. Throws Error{invalid_argument} if the share is not from 0 to 1.
std::int64_t scratch_limit(const TuneOptions& options, std::int64_t free_bytes);

/// True if the power cap may bind a kernel that takes `us`. Then rounds mislead, and only blocks, which take the whole
/// GPU for seconds, tell the fastest.
bool needs_blocks(const DeviceState& device, const Workload& problem, double us);

/// Makes a measurer in another process for the current GPU, which must end its work by `deadline`; nullptr if this
/// process is to measure. Throws Error{not_supported} if this process may run vetted kernels only, because a fault
/// would end the work of other processes. It is called on a thread of its own, with the CUDA context current.
using MakeMeasurer = std::function<std::unique_ptr<Measurer>(std::chrono::steady_clock::time_point deadline)>;

/// Tunes one problem within a call. The steps are: candidates, rank, build, load, check, measure, pick, record.
///
/// All of them share one deadline, options.budget_s after the call. Three fifths of the time are for compiling. The
/// candidates that are compiled by then are checked, in half of the time that is left, and raced. The function may end
/// later by the longest of these: the compilation of the first candidate, a launch that has begun, a driver call.
///
/// Measures in a process of `make_measurer`. Without one it measures in this process, by a GuardedMeasurer on a stream
/// and in scratch memory of its own: only the first candidate and those that are vetted, if these are enough; else all.
///
/// `is_cancelled` is called between steps, on any thread; when it is true, the tuning ends with the best so far.
///
/// Throws Error{invalid_argument} if the budget is negative or NaN, or the share of memory is none;
/// Error{not_supported} if only vetted kernels may run and there are too few; Error{driver_error} if the other process
/// loses its CUDA context; Error{out_of_memory}, before it compiles anything, if the operands exceed scratch_limit; the
/// errors of pick_candidates and search; Error{interrupted} if it was cancelled before anything was timed, or other
/// threads measured on the GPU until the deadline; and Error{context_lost} if a candidate destroys the CUDA context,
/// which only one that is not vetted should.
TuneOutcome tune_problem(DeviceState& device, const Workload& problem, const TuneOptions& options,
                         const MakeMeasurer& make_measurer = {}, const std::function<bool()>& is_cancelled = {});

/// The conditions of a tuning beside the program's own work.
struct BesideWork {
  bool only_vetted = false;            ///< `measurer` is in this process: only vetted kernels run, and the estimate's
  std::function<bool()> is_cancelled;  ///< true: the tuning ends, without a result
  std::function<void()> meanwhile;     ///< called now and then while candidates are compiled; may be empty
};

/// Tunes one problem with `measurer`, whose pauses bound the share of the GPU that this takes; so there is no deadline.
/// At most ten candidates are picked, by the rules of tune_problem, in their usual rasters, and one race decides: so it
/// measures about a tenth as much. options.jobs threads compile. If only vetted kernels may run, all candidates are
/// built, to find those. Nothing is built if fewer than four kernels are vetted on this GPU.
///
/// Throws Error{interrupted} if it was cancelled, Error{not_supported} if only vetted kernels may run and there are too
/// few, and the errors of tune_problem.
TuneOutcome tune_beside_work(DeviceState& device, const Workload& problem, const TuneOptions& options,
                             Measurer& measurer, const BesideWork& how);

}  // namespace hotgemm
