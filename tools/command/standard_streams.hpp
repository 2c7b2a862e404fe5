#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace hotgemm::command {

/// Opens /dev/null in the place of stdin, stdout and stderr where they are closed. Else a file that is opened later
/// would take their numbers, and messages would go into it. Writing to stdout then fails; writing to stderr does not.
void open_standard_streams();

/// Writes to stdout or stderr. fmt::print throws if it cannot. Here the error stays in the stream: the end of the
/// program reports an error of stdout, and nobody would read one of stderr.
void write_out(std::string_view text);
void write_err(std::string_view text);

/// Writes formatted text to stderr.
template <class... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  write_err(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hotgemm::command
