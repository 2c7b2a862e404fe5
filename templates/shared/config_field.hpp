#pragma once

namespace hotgemm {

/// The kinds of fields of a config. The tuner's shortlist limits the number of variants of one tile for each kind.
enum class FieldKind : unsigned char {
  tile,      ///< the part of D that a block computes, and its division among the threads
  pipeline,  ///< the way the tile's operands arrive and its results are stored
  depth,     ///< the depth of the pipeline: k-tiles or blocks in flight; neighbouring values hardly differ in speed
  rung,      ///< a switch for rungs of the ladder only: menus have only its default value
};

/// One field of a config, as its list `visit_fields` describes it. There is only this list: names, rendered units,
/// database text, the shortlist, refusals and `hotgemm show` all read it. All members except `least` must be given.
struct ConfigField {
  const char* name;     ///< of the member
  const char* tag;      ///< before the value in a config's name; unique in its family
  FieldKind kind;       ///< what the field decides
  const char* meaning;  ///< in English, for `hotgemm show`
  int least;            ///< the smallest number that has a meaning; 1 for sizes, because they are used as divisors

  constexpr ConfigField(const char* name, const char* tag, FieldKind kind, const char* meaning, int least = 1)
      : name(name), tag(tag), kind(kind), meaning(meaning), least(least) {}

  bool is_added = false;
  int default_value = 0;  ///< of an added field

  /// True if a config's name and its rendered unit contain the field when it has this value.
  constexpr bool is_named(int value) const { return !is_added || value != default_value; }
};

/// A field that was added to a config after names of the config had been recorded. Names and rendered units contain it
/// only if it differs from its default, so that old names, records and cubins stay valid. Every new field of an
/// existing config must be an AddedField, at the end of the list.
struct AddedField : ConfigField {
  constexpr AddedField(const char* name, const char* tag, FieldKind kind, const char* meaning, int default_value,
                       int least = 1)
      : ConfigField(name, tag, kind, meaning, least) {
    this->is_added = true;
    this->default_value = default_value;
  }
};

}  // namespace hotgemm
