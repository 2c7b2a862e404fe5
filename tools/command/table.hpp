#pragma once

#include <string>
#include <vector>

namespace hotgemm::command {

/// Rows of text under headings.
class Table {
 public:
  struct Column {
    std::string heading;
    bool is_number = false;  ///< aligned to the right
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row. Missing cells are empty.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// The columns, separated by two spaces, without a newline at the end.
  std::string text() const;
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `value` with `digits` decimals, or a dash if it is not a number.
std::string number(double value, int digits);

/// A size in text, such as "1.5 GiB" or "12 KiB".
std::string readable_bytes(double bytes);

}  // namespace hotgemm::command
