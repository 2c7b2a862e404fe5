#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The lines of a list of problems that commas separate, as spreadsheets write it, in the grammar of problems.
///
/// Columns have the order of the grammar: m,n,k,layout,type and then key=value; or MxNxK,layout,type. Or the first line
/// names them, in any order: those five and the keys of problems, whose empty cells count as not given; or "problem",
/// whose cells are whole problems, beside columns of results that are skipped. Cells may stand in double quotes.
class ShapesCsv {
 public:
  /// True if `line` can be the first of such a list.
  static bool begins(std::string_view line);

  /// The problem of the next line; empty for the line that names the columns. Throws Error{invalid_argument}.
  std::string problem(std::string_view line);

 private:
  void name_columns(const std::vector<std::string>& cells);

  bool is_first_ = true;
  std::vector<std::string> columns_;  ///< empty: the order of the grammar
};

}  // namespace hotgemm
