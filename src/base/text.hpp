#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// Splits `text` at spaces, tabs and carriage returns. No part is empty.
std::vector<std::string_view> split_words(std::string_view text);

/// The parts of `text` between separators; they may be empty.
std::vector<std::string_view> split_at(std::string_view text, char separator);

/// Removes `prefix` from the front of `text`; false, and `text` as it was, if it does not begin with that.
bool take_prefix(std::string_view& text, std::string_view prefix);

/// `word` in the form that error messages use: in quotes, with '?' for control characters and non-ASCII bytes, and cut
/// if it is long.
std::string in_quotes(std::string_view word);

/// `text` without the mark that some editors write at the beginning of a file in UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

/// The number of bytes in a text such as "4096", "64K", "512M", "1G" or "2T". Throws Error{invalid_argument}.
std::uint64_t parse_size(std::string_view text);

}  // namespace hotgemm
