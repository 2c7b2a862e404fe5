#pragma once

#include "config/problem_text.hpp"

#include <string_view>
#include <vector>

namespace hotgemm {

/// True if `text` begins as the result files of PyTorch's TunableOp do (tunableop_results*.csv).
bool is_tunableop(std::string_view text);

/// The products of such a file, each with the time that the file gives. BLAS's matrices are column-major: its m×n
/// product is the row-major n×m product of B and A. A product with bias counts as the product alone. Lines of types,
/// batches or scales that no kernel computes yet are left out; a message at "warn" gives their number.
///
/// Throws Error{invalid_argument} "FILE:LINE: …" for a line of another form.
std::vector<Shape> parse_tunableop(std::string_view text, std::string_view file_name);

}  // namespace hotgemm
