#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

struct IncludeDirective {
  std::string name;        ///< as written
  bool is_angled = false;  ///< <name>, not "name"
  friend bool operator==(const IncludeDirective&, const IncludeDirective&) = default;
};

/// The #include directives of `text`, in order, whatever their spelling: with spaces, comments or continued lines
/// within them, as digraphs. Those in comments and strings are none; those that a condition excludes are. Throws
/// Error{invalid_argument} for a directive whose file only a preprocessor knows: #include of a macro, #include_next.
std::vector<IncludeDirective> includes_of(std::string_view text);

}  // namespace hotgemm
