#pragma once

#include "command/session.hpp"
#include "config/kernel_config.hpp"

namespace hotgemm::command {

/// Explains `config` for problems like `problem`: each field, the parts of the tile, the resources that it takes on an
/// SM, and the architectures on which it is legal. `is_example`: the command chose the problem, and the page says so.
void describe_config(Session& session, const KernelConfig& config, const Workload& problem, bool is_example);

}  // namespace hotgemm::command
