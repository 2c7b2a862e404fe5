#include "base/text.hpp"

namespace hotgemm {

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

std::string in_quotes(std::string_view word) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : word.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  out += word.size() > kShown ? "…'" : "'";
  return out;
}

}  // namespace hotgemm
