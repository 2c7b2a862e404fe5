#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The parts of `text` between spaces, tabs and carriage returns; none is empty.
std::vector<std::string_view> split_words(std::string_view text);

/// `word` as an error message shows it: in quotes, control characters and bytes beyond ASCII as '?', cut when long.
std::string in_quotes(std::string_view word);

}  // namespace hotgemm
