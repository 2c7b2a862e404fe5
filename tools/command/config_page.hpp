#pragma once

#include "command/session.hpp"
#include "config/kernel_config.hpp"

namespace hotgemm::command {

/// Explains `config` as it computes problems of the kind of `problem`: each field, the tile's division, what it takes
/// of an SM, and where it is legal. `is_example`: the problem is ours, and the reader is told so.
void describe_config(Session& session, const KernelConfig& config, const Workload& problem, bool is_example);

}  // namespace hotgemm::command
