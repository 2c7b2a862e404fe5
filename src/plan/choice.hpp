#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "records/database.hpp"

#include <hotgemm/plan.hpp>
#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// What is launched for a problem class, and where that answer came from.
struct Choice {
  KernelConfig config;
  LaunchConfig launch;
  Origin origin = Origin::estimated;
  double distance = 0;  ///< to the recorded class, where origin is `nearest`
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// "mma_… r8m, tuned", "… nearest (0.4)".
std::string to_string(const Choice& choice);

/// The answers without measuring, best first; never empty. The first is what is used; the next ones are for a kernel
/// that turns out to spill. An exact record, else the nearest records' configs by the model, else the anchors by the
/// model. Depends on `arch` and the records only, not on how many SMs the GPU has: so prewarm, without a GPU, arrives
/// at the same answer. Throws Error{not_supported} if no kernel computes the problem on `arch`.
std::vector<Choice> choose(const Workload& problem, const std::string& arch, const Database& database,
                           const GpuQuery& query);

/// The GPUs of `arch` that records exist for, and one that no record names. Whatever GPU of the architecture comes,
/// what it would be answered is among what these are answered. Parses all records.
std::vector<Environment> known_environments(const std::string& arch, const Database& database);

}  // namespace hotgemm
