#pragma once

#include "runtime/device_state.hpp"
#include "tune/search.hpp"

#include <hotgemm/context.hpp>

namespace hotgemm {

/// What the search takes of the options of a call.
SearchOptions search_options(const TuneOptions& options);

/// The cold line, for one problem, in this process: candidates, rank, build, load, check, measure, pick, record.
///
/// Uses scratch memory and a stream of its own. Throws what pick_candidates and search throw, and Error{context_lost}
/// if a candidate takes the CUDA context with it.
TuneOutcome tune_problem(DeviceState& device, const Workload& problem, const TuneOptions& options);

}  // namespace hotgemm
