#pragma once

#include "config/kernel_config.hpp"
#include "plan/affordable.hpp"
#include "plan/choice.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hotgemm {

/// The config that a program names for a problem class.
struct PinnedConfig {
  KernelConfig config;
  std::optional<LaunchConfig> launch;  ///< nullopt: the raster that the model suggests
  friend bool operator==(const PinnedConfig&, const PinnedConfig&) = default;
};

/// An empty `launch` is none. Throws Error{invalid_argument} that names the text.
PinnedConfig parse_pinned(std::string_view config, std::string_view launch);

/// The choice of `pinned` for the class of `problem` on a GPU with `sm_count` SMs, with the operands repacked that the
/// config cannot read as they are. Throws Error{not_supported} with the reason if it cannot compute the class within
/// the problem's rules and `cap_bytes` of workspace.
Choice pinned_choice(const Workload& problem, const PinnedConfig& pinned, const std::string& arch, int sm_count,
                     const WorkspaceOf& workspace_of, std::size_t cap_bytes);

}  // namespace hotgemm
