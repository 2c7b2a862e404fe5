#pragma once

#include <cstddef>
#include <string_view>

namespace hotgemm::command {

/// Columns of the terminal on `fd`; of what COLUMNS says, or 80, if `fd` is no terminal.
std::size_t terminal_columns(int fd);

/// True if a line on `fd` can be erased and written again: it is a terminal, and TERM does not call it dumb.
bool can_rewrite_lines(int fd);

/// The first `columns` characters of UTF-8 text.
std::string_view first_columns(std::string_view text, std::size_t columns);

/// The number of characters of UTF-8 text.
std::size_t columns_of(std::string_view text);

}  // namespace hotgemm::command
