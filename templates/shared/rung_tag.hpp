#pragma once

namespace hotgemm {

/// The tag of a field that only rungs of the ladder change. Such fields stand last in a config's list, and a name and a
/// rendered unit have them only where they differ from their default: other configs need not know of them.
struct RungTag {
  const char* text;
  int default_value;
  constexpr operator const char*() const { return text; }  // what most visitors want of any tag
};

/// Whether a name has a field of `tag` and `value`.
constexpr bool is_named(const char*, int) { return true; }
constexpr bool is_named(const RungTag& tag, int value) { return value != tag.default_value; }

}  // namespace hotgemm
