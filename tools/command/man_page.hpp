#pragma once

#include "command/command_page.hpp"

#include <string>

namespace hotgemm::command {

/// The name of a command's manual page: "hotgemm-cache-ls".
std::string man_name(const CommandPage& page);

/// The manual page of section 1, in roff. `root` is the page of the whole program, whose notes hold for each command.
std::string man_page(const CommandPage& page, const CommandPage& root);

}  // namespace hotgemm::command
