#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The parts of `text` between spaces, tabs and carriage returns; none is empty.
std::vector<std::string_view> split_words(std::string_view text);

/// `word` as an error message shows it: in quotes, control characters and bytes beyond ASCII as '?', cut when long.
std::string in_quotes(std::string_view word);

/// "4096", "64K", "512M", "1G", "2T": bytes. Throws Error{invalid_argument}.
std::uint64_t parse_size(std::string_view text);

}  // namespace hotgemm
