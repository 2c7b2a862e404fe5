#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hotgemm::command {

/// The file that a command may write or replace under the name that the user has given: the target, if it is a link.
/// Throws Error{invalid_argument} if that is something else than a regular file, for a link to nothing, and for the
/// name "-".
std::filesystem::path output_file(const std::string& name);

/// Writes the whole file. Throws Error{io_error}; a new file that could not be written is removed.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace hotgemm::command
