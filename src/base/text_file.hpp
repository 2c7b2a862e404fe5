#pragma once

#include <filesystem>
#include <string>

namespace hotgemm {

/// All bytes of a file. Throws Error{io_error}, with the file's name and the reason.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace hotgemm
