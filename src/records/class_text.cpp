#include "records/class_text.hpp"

#include "config/max_size.hpp"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace hotgemm {

std::optional<ClassText> split_class(std::string_view text) {
  ClassText parts;
  for (std::int64_t* size : {&parts.sizes.m, &parts.sizes.n, &parts.sizes.k}) {
    if (size != &parts.sizes.m && !text.starts_with(' ')) return std::nullopt;
    if (size != &parts.sizes.m) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *size);
    if (error != std::errc() || *size < 0 || *size > kMaxSize) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  parts.rest = text;
  return parts;
}

std::string_view ArchFinder::operator()(std::string_view line) {
  constexpr std::string_view kField = "\",\"arch\":\"";  // only the field: quotes within a string have backslashes
  const bool is_there = from_end_ <= line.size() && line.substr(line.size() - from_end_).starts_with(kField);
  const std::size_t at = is_there ? line.size() - from_end_ : line.find(kField);
  if (at == std::string_view::npos) return {};
  from_end_ = line.size() - at;
  line.remove_prefix(at + kField.size());
  return line.substr(0, line.find('"'));
}

}  // namespace hotgemm
