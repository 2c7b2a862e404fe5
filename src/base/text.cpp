#include "base/text.hpp"

#include <hotgemm/error.hpp>

#include <charconv>
#include <limits>
#include <system_error>

namespace hotgemm {
namespace {

unsigned shift_of(std::string_view suffix) {
  if (suffix.empty()) return 0;
  if (suffix == "K" || suffix == "k") return 10;
  if (suffix == "M" || suffix == "m") return 20;
  if (suffix == "G" || suffix == "g") return 30;
  if (suffix == "T" || suffix == "t") return 40;
  return std::numeric_limits<std::uint64_t>::digits;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const std::size_t end = text.find_first_of(kBlank, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end == std::string_view::npos ? end : text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string in_quotes(std::string_view word) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : word.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  out += word.size() > kShown ? "…'" : "'";
  return out;
}

std::uint64_t parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const unsigned shift = shift_of(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (error != std::errc() || shift >= std::numeric_limits<std::uint64_t>::digits ||
      number > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    throw Error(ErrorCode::invalid_argument,
                "size '" + std::string(text) + "': expected bytes, or a number with K, M, G or T");
  }
  return number << shift;
}

}  // namespace hotgemm
