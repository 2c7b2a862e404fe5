#pragma once

#include "command/session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {

/// The architecture that `word` names: "sm_90a", "90a", "9.0a" or "compute_90a". Throws Error{invalid_argument} for one
/// that is not known; the message says what was probably meant.
std::string arch_named(std::string_view word);

/// Adds --arch to `app`, for one architecture or a list. "native" is the architecture of the GPU of --device.
CLI::Option* add_arch_option(CLI::App& app, const Session& session, std::string& arch, const std::string& help);
CLI::Option* add_arch_option(CLI::App& app, const Session& session, std::vector<std::string>& archs,
                             const std::string& help);

}  // namespace hotgemm::command
