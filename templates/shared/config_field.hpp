#pragma once

namespace hotgemm {

/// What a field of a config decides. The tuner's shortlist limits how many variants of one tile it takes, by kind.
enum class FieldKind : unsigned char {
  tile,      ///< which part of D a block computes, and which of its threads computes which part of that, and how
  pipeline,  ///< how the tile's operands arrive and how its results leave
  depth,     ///< of the pipeline: how many k-tiles or blocks are in flight, in which neighbours hardly differ
  rung,      ///< a switch that only rungs of the ladder turn: no menu has another value than the default
};

/// One field of a config, as its list `visit_fields` describes it. The list is the only one: names, rendered units,
/// database text, the shortlist, refusals and `hotgemm show` all read it. All of it but `least` must be given.
struct ConfigField {
  const char* name;     ///< of the member
  const char* tag;      ///< before the value in a config's name; unique in its family
  FieldKind kind;       ///< what the field decides
  const char* meaning;  ///< in English, for `hotgemm show`
  int least;            ///< the smallest number that means anything; 1 for sizes, which others are divided by

  constexpr ConfigField(const char* name, const char* tag, FieldKind kind, const char* meaning, int least = 1)
      : name(name), tag(tag), kind(kind), meaning(meaning), least(least) {}

  bool is_added = false;
  int default_value = 0;  ///< of an added field

  /// Whether a config's name and its rendered unit have the field where it has this value.
  constexpr bool is_named(int value) const { return !is_added || value != default_value; }
};

/// A field that was added to a config after its first names had been recorded. Names and rendered units have it only
/// where it differs from its default, so that old names, records and cubins stay valid. Every field that is added to an
/// existing config is one, and stands last in its list.
struct AddedField : ConfigField {
  constexpr AddedField(const char* name, const char* tag, FieldKind kind, const char* meaning, int default_value,
                       int least = 1)
      : ConfigField(name, tag, kind, meaning, least) {
    this->is_added = true;
    this->default_value = default_value;
  }
};

}  // namespace hotgemm
