#pragma once

#include <cstddef>
#include <string_view>

namespace hotgemm::c {

/// Writes as much of `text` as fits, and a zero byte, to the `size` bytes at `buffer`. Returns the length of the text.
std::size_t copy_text(std::string_view text, char* buffer, std::size_t size) noexcept;

/// copy_text for a function that stores the length. Throws Error{invalid_argument} for a null buffer that has a size.
void give_text(std::string_view text, char* buffer, std::size_t size, std::size_t* length);

}  // namespace hotgemm::c
