#pragma once

#include "config/problem_text.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

// The parts of a line of records that are read without parsing the line.

namespace hotgemm {

/// The text of a class is "m n k " and the rest, which must be equal for two classes to be neighbours.
struct ClassText {
  Sizes sizes;
  std::string_view rest;  ///< from the space before the layout on
};

/// nullopt if `text` does not begin with three sizes. It allocates nothing: the first search calls it for every class.
std::optional<ClassText> split_class(std::string_view text);

/// Finds the architectures of records in the text of their lines. The lines of one machine mostly end alike, so that
/// the place of the last one, counted from the end, is tried first.
class ArchFinder {
 public:
  /// An empty view if `line` names none.
  std::string_view operator()(std::string_view line);

 private:
  std::size_t from_end_ = 0;
};

}  // namespace hotgemm
