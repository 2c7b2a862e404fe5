#include "c/text.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>

namespace hotgemm::c {

std::size_t copy_text(std::string_view text, char* buffer, std::size_t size) noexcept {
  if (buffer != nullptr && size > 0) {
    const std::size_t count = std::min(text.size(), size - 1);
    std::copy_n(text.data(), count, buffer);  // which may be none, of an empty view
    buffer[count] = '\0';
  }
  return text.size();
}

void give_text(std::string_view text, char* buffer, std::size_t size, std::size_t* length) {
  if (buffer == nullptr && size > 0) throw Error(ErrorCode::invalid_argument, "buffer is null, and its size is not 0");
  copy_text(text, buffer, size);
  if (length != nullptr) *length = text.size();
}

}  // namespace hotgemm::c
