#pragma once

#include "command/command_page.hpp"

#include <string>
#include <string_view>

namespace hotgemm::command {

/// A script that lets the shell complete commands, options, and values where there are few. `shell` is "bash", "zsh" or
/// "fish". It needs neither the command nor another package when it runs.
std::string completion_script(std::string_view shell, const CommandPage& root);

}  // namespace hotgemm::command
