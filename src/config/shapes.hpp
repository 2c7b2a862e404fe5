#pragma once

#include "config/problem_text.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A shape file names one problem per line, as `parse_shape` reads it: `m n k layout type [key=value …]`; `#` starts a
/// comment. An m of the form FIRST:LAST stands for every bucket of m in this range (`in_buckets`). Lists with commas
/// (shapes_csv.hpp) and the result files of PyTorch's TunableOp (tunableop.hpp) are read too.
///
/// Throws Error{invalid_argument} "FILE:LINE: …" that names the invalid word. `file_name` is used in messages only.
std::vector<Shape> parse_shapes(std::string_view text, std::string_view file_name);

/// Calls parse_shapes on the content of a file, or on the *.txt and *.csv files of a directory in the order of their
/// names, such as a problem log; throws Error{io_error} if there is nothing to read.
std::vector<Shape> load_shapes(const std::filesystem::path& path);

}  // namespace hotgemm
