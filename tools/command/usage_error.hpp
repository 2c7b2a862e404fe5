#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm::command {

/// `word` as a shell would have to be given it.
std::string shell_quoted(std::string_view word);

/// The message about a wrong command line: which word is wrong, what is expected there, and what was probably meant.
/// `words` are those of the command line, which `app` has refused with `error`.
std::string usage_message(CLI::App& app, const std::vector<std::string_view>& words, const CLI::ParseError& error);

}  // namespace hotgemm::command
