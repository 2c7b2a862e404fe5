#pragma once

#include "runtime/device_state.hpp"
#include "tune/search.hpp"

#include <hotgemm/context.hpp>

namespace hotgemm {

/// The options of a search, taken from the options of a call.
SearchOptions search_options(const TuneOptions& options);

/// Tunes one problem in this process. The steps are: candidates, rank, build, load, check, measure, pick, record.
///
/// Uses its own stream and scratch memory. Throws the errors of pick_candidates and search, and Error{context_lost} if
/// a candidate destroys the CUDA context.
TuneOutcome tune_problem(DeviceState& device, const Workload& problem, const TuneOptions& options);

}  // namespace hotgemm
