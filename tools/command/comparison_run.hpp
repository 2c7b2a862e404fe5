#pragma once

#include "command/measurers.hpp"
#include "command/session.hpp"
#include "command/tune_options.hpp"

#include <hotgemm/types.hpp>

#include <span>

namespace hotgemm::command {

/// Runs `bench --compare-measures`: times `configs` configs of each problem in rounds and alone. Returns the exit code.
int run_comparison(Session& session, std::span<const Workload> problems, const TuningOptions& tuning, int configs,
                   const MeasurerOptions& measuring);

}  // namespace hotgemm::command
