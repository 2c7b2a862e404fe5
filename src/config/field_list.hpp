#pragma once

#include "base/member_count.hpp"
#include "shared/config_field.hpp"

#include <cstddef>
#include <string_view>

namespace hotgemm {

// The conditions on the list of fields of each config. kernel_config.cpp asserts them for every family. A failure names
// the config as `Config`.

namespace detail {
/// True if `holds` is true for each field of the list and its default value.
template <class Config, class Holds>  // bool(const ConfigField&, int)
constexpr bool all_fields(Holds&& holds) {
  bool good = true;
  const Config defaults;
  Config::visit_fields(
      defaults, [&](const ConfigField& field, auto value) { good = holds(field, static_cast<int>(value)) && good; });
  return good;
}

template <class Config>
constexpr std::size_t listed_fields() {
  std::size_t count = 0;
  all_fields<Config>([&](const ConfigField&, int) { return ++count > 0; });
  return count;
}

constexpr bool is_tag(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == text.npos;
}

template <class Config>
constexpr bool has_one_field_of(std::string_view tag) {
  std::size_t count = 0;
  all_fields<Config>([&](const ConfigField& field, int) {
    count += field.tag == tag ? 1 : 0;
    return true;
  });
  return count == 1;
}

template <class Config>
constexpr bool adds_fields_last() {
  bool has_added = false;
  return all_fields<Config>([&](const ConfigField& field, int) {
    has_added = has_added || field.is_added;
    return field.is_added == has_added;
  });
}
}  // namespace detail

template <class Config>
constexpr bool check_field_list() {
  using namespace detail;
  static_assert(listed_fields<Config>() == member_count<Config>(),
                "a member of this config is missing in its visit_fields (templates/shared/<family>_config.hpp)");
  static_assert(all_fields<Config>([](const ConfigField& field, int) { return field.meaning[0] != '\0'; }),
                "a field of this config has no meaning in its visit_fields");
  static_assert(all_fields<Config>([](const ConfigField& field, int) { return is_tag(field.tag); }),
                "the tag of a field of this config is not of lower-case letters");
  static_assert(all_fields<Config>([](const ConfigField& field, int) { return has_one_field_of<Config>(field.tag); }),
                "two fields of this config have the same tag");
  static_assert(adds_fields_last<Config>(), "an AddedField of this config does not stand last in its visit_fields");
  static_assert(
      all_fields<Config>([](const ConfigField& field, int value) { return field.is_named(value) != field.is_added; }),
      "the default of an AddedField is not that of its member");
  return true;
}

}  // namespace hotgemm
