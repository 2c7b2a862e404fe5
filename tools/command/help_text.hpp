#pragma once

#include "command/command_page.hpp"

#include <cstddef>
#include <string>

namespace hotgemm::command {

/// The text of --help, in lines of at most `columns` where words allow it.
std::string help_text(const CommandPage& page, std::size_t columns);

}  // namespace hotgemm::command
