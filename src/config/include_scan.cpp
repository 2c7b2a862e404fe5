#include "config/include_scan.hpp"

#include "base/text.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace hotgemm {
namespace {

/// `text` without backslashes at the ends of lines, and the line ends after them.
std::string spliced(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t slash = std::min(text.find('\\'), text.size());
    result.append(text, 0, slash);
    text.remove_prefix(slash);
    const bool continues = text.starts_with("\\\n") || text.starts_with("\\\r\n");
    if (!continues) result.append(text, 0, 1);
    text.remove_prefix(continues ? text.find('\n') + 1 : std::min<std::size_t>(text.size(), 1));
  }
  return result;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Reads C++ text and leaves out its comments. Each becomes a space, as in the standard.
class CommentFilter {
 public:
  explicit CommentFilter(std::string_view text) : text_(text) { result_.reserve(text.size()); }

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(result_);
  }

 private:
  bool sees(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  /// Copies up to `end`; beyond the text means up to its end.
  void copy_to(std::size_t end) {
    end = std::min(end, text_.size());
    result_.append(text_, at_, end - at_);
    at_ = end;
  }
  void skip_past(std::string_view token, std::size_t from) {
    const std::size_t end = text_.find(token, from);
    at_ = end == text_.npos ? text_.size() : end + token.size();
    result_ += ' ';
  }

  void step() {
    copy_to(text_.find_first_of("/\"'", at_));
    if (sees("//")) {
      skip_past("\n", at_);
      result_ += '\n';
    } else if (sees("/*")) {
      skip_past("*/", at_ + 2);
    } else if (sees("\"") && !result_.empty() && result_.back() == 'R') {
      copy_raw_string();
    } else if (sees("\"")) {
      copy_literal('"');
    } else if (sees("'") && (result_.empty() || !is_word(result_.back()))) {  // else it separates digits
      copy_literal('\'');
    } else {
      copy_to(at_ + 1);
    }
  }

  /// A literal ends at its line's end at the latest.
  void copy_literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    copy_to(end + 1);
  }

  void copy_raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == text_.npos) return copy_to(at_ + 1);
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = text_.find(close, open);
    // A directive within a raw string is none: its line ends are left out.
    std::string raw(text_.substr(at_, end == text_.npos ? text_.npos : end + close.size() - at_));
    at_ += raw.size();
    std::ranges::replace(raw, '\n', ' ');
    result_ += raw;
  }

  std::string_view text_;
  std::string result_;
  std::size_t at_ = 0;
};

void skip_spaces(std::string_view& line) {
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0) line.remove_prefix(1);
}

void scan_line(std::string_view line, std::vector<IncludeDirective>& found) {
  const std::string_view whole = line;
  skip_spaces(line);
  if (!take_prefix(line, "#") && !take_prefix(line, "%:") && !take_prefix(line, "?\?=")) return;
  skip_spaces(line);
  if (!take_prefix(line, "include")) return;
  const bool is_include = line.empty() || !is_word(line.front());
  skip_spaces(line);
  const char close = line.starts_with('"') ? '"' : line.starts_with('<') ? '>' : '\0';
  const std::size_t end = close != '\0' && is_include ? line.find(close, 1) : line.npos;
  if (end == line.npos) {
    throw Error(ErrorCode::invalid_argument, "only a preprocessor can follow \"" + std::string(whole) + "\"");
  }
  found.push_back({std::string(line.substr(1, end - 1)), close == '>'});
}

}  // namespace

std::vector<IncludeDirective> includes_of(std::string_view text) {
  const std::string code = CommentFilter(spliced(text)).run();
  std::vector<IncludeDirective> found;
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    scan_line(std::string_view(code).substr(begin, end - begin), found);
    begin = end + 1;
  }
  return found;
}

}  // namespace hotgemm
