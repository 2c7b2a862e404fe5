#pragma once

#include <hotgemm/problem.hpp>

#include <string>
#include <string_view>

// The names of a problem's enumerators. They are given by a switch over all enumerators, so that the compiler asks for
// the name of a new one. A number that is not an enumerator has an empty name.

namespace hotgemm {

std::string_view to_string(ComputeMode mode);
std::string_view to_string(SumOrder order);
std::string_view to_string(BatchKind kind);
std::string_view to_string(GroupKind kind);
std::string_view to_string(Scaling scaling);
std::string_view to_string(Bias bias);
std::string_view to_string(Activation activation);
std::string_view to_string(Gate gate);
std::string_view to_string(WorkspaceClass workspace);

/// True if `value` is one of the enumerators. False for any other number that was cast to the enumeration.
template <class Enum>
bool is_enumerator(Enum value) {
  return !to_string(value).empty();
}

/// Throws Error{invalid_argument}: "`what` is 'text': expected `names`".
[[noreturn]] void fail_enum(std::string_view text, std::string_view what, const std::string& names);

/// The enumerator whose name is `text`. Throws Error{invalid_argument} that lists the names.
template <class Enum>
Enum parse_enum(std::string_view text, std::string_view what) {
  std::string names;
  for (int i = 0; is_enumerator(static_cast<Enum>(i)); ++i) {
    const std::string_view name = to_string(static_cast<Enum>(i));
    if (text == name) return static_cast<Enum>(i);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  fail_enum(text, what, names);
}

}  // namespace hotgemm
