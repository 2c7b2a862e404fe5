#include "command/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace hotgemm::command {
namespace {

constexpr std::size_t kUsual = 80;
constexpr std::size_t kNarrowest = 20;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::size_t said_by_environment() {
  const char* const text = std::getenv("COLUMNS");
  std::size_t columns = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), columns);
  return columns;
}

}  // namespace

std::size_t terminal_columns(int fd) {
  winsize size{};
  const bool is_known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::size_t columns = is_known ? size.ws_col : said_by_environment();
  return columns == 0 ? kUsual : std::max(columns, kNarrowest);
}

bool can_rewrite_lines(int fd) {
  const char* const term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

}  // namespace hotgemm::command
