#pragma once

#include "config/problem_text.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A shape file names one problem per line, as `parse_shape` reads it: `m n k layout type [key=value …]`; `#` starts a
/// comment.
///
/// Throws Error{invalid_argument} "FILE:LINE: …" that names the bad word. `file_name` is used in messages only.
std::vector<Shape> parse_shapes(std::string_view text, std::string_view file_name);

/// parse_shapes of a file's content; throws Error{io_error} where it cannot be read.
std::vector<Shape> load_shapes(const std::filesystem::path& path);

}  // namespace hotgemm
