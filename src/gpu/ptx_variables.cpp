#include "gpu/ptx_variables.hpp"

#include <algorithm>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::string_view kNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

/// True if the line declares a variable in global memory, as `.global .align 4 .u32 name = 4;` or
/// `.visible .global .align 1 .b8 name[4] = {1, 2};`.
bool declares_variable(std::string_view line) {
  for (const std::string_view linking : {".visible ", ".weak ", ".common ", ".extern "}) {
    if (line.starts_with(linking)) line.remove_prefix(linking.size());
  }
  return line.starts_with(".global ");
}

/// The last name before the size, the value or the end of a declaration.
std::string_view declared_name(std::string_view line) {
  const std::string_view head = line.substr(0, line.find_first_of("[=;"));
  const std::size_t last = head.find_last_of(kNameBytes);
  if (last == head.npos) return {};
  const std::size_t before = head.find_last_not_of(kNameBytes, last);
  return head.substr(before + 1, last - before);
}

/// True if one of the names in `line` is in `names`.
bool refers_to(std::string_view line, const std::set<std::string_view>& names) {
  for (std::size_t at = line.find_first_of(kNameBytes); at != line.npos;) {
    const std::size_t end = std::min(line.find_first_not_of(kNameBytes, at), line.size());
    if (names.contains(line.substr(at, end - at))) return true;
    at = line.find_first_of(kNameBytes, end);
  }
  return false;
}

}  // namespace

std::optional<std::set<std::string_view>> unread_variables(std::string_view ptx) {
  const std::vector<std::string_view> lines = lines_of(ptx);
  std::set<std::string_view> names;
  for (const std::string_view line : lines) {
    if (!declares_variable(line)) continue;
    const std::string_view name = declared_name(line);
    if (name.empty() || !line.ends_with(';')) return std::nullopt;  // not as NVRTC writes it
    names.insert(name);
  }
  const bool is_read = std::ranges::any_of(
      lines, [&](std::string_view line) { return !declares_variable(line) && refers_to(line, names); });
  if (is_read) return std::nullopt;
  return names;
}

}  // namespace hotgemm
