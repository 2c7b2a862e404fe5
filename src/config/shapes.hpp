#pragma once

#include <hotgemm/types.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace hotgemm {

/// Parses a shape file. It names one problem per line, `m n k layout dtype`; `#` starts a comment. The problems
/// accumulate in f32, their beta is zero, and their matrices are packed (see `with_packed_alignment`).
///
/// Throws Error{invalid_argument} "FILE:LINE: …" that names the invalid word. `file_name` is used in messages only.
std::vector<Problem> parse_shapes(std::string_view text, std::string_view file_name);

/// Calls parse_shapes on the content of a file; throws Error{io_error} if the file cannot be read.
std::vector<Problem> load_shapes(const std::filesystem::path& path);

/// Parses sizes such as "4096x4096x512"; all other members have the values of a default Problem. This includes the
/// alignments, so apply `with_packed_alignment` when layout and type are known. Throws Error{invalid_argument}.
Problem parse_shape(std::string_view text);

/// `problem` with the alignments of packed matrices at addresses that are multiples of 16 bytes: each leading dimension
/// is the length of a row as stored.
Problem with_packed_alignment(Problem problem);

}  // namespace hotgemm
