#pragma once

#include <hotgemm/types.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A shape file names one problem per line, `m n k layout dtype`; `#` starts a comment. Sums are taken in f32, beta is
/// zero, and the matrices are packed (see `with_packed_alignment`).
///
/// Throws Error{invalid_argument} "FILE:LINE: …" that names the bad word. `file_name` is used in messages only.
std::vector<Problem> parse_shapes(std::string_view text, std::string_view file_name);

/// parse_shapes of a file's content; throws Error{io_error} where it cannot be read.
std::vector<Problem> load_shapes(const std::filesystem::path& path);

/// "4096x4096x512": the sizes only, everything else as a default Problem has it. The alignments are those of a default
/// Problem too, so apply `with_packed_alignment` once layout and type are known. Throws Error{invalid_argument}.
Problem parse_shape(std::string_view text);

/// `problem` with the alignments of packed matrices whose addresses are multiples of 16 bytes: each leading dimension
/// is the length of a row as stored.
Problem with_packed_alignment(Problem problem);

}  // namespace hotgemm
