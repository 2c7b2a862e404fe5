#pragma once

#include "command/measurers.hpp"
#include "command/session.hpp"
#include "command/tune_options.hpp"

#include <hotgemm/types.hpp>

#include <span>

namespace hotgemm::command {

/// Runs `bench --quality`: compares the tuner's and the model's picks with the fastest of all configs. Returns the exit
/// code.
int run_quality(Session& session, std::span<const Workload> problems, const TuningOptions& tuning, int rounds,
                const MeasurerOptions& measuring);

}  // namespace hotgemm::command
