#pragma once

#include <string>
#include <vector>

namespace hotgemm::command {

/// Rows of text under headings.
class Table {
 public:
  struct Column {
    std::string heading;
    bool is_number = false;  ///< flush right
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns; missing ones are empty.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Columns two spaces apart, without a newline at the end.
  std::string text() const;
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `value` with `digits` decimals; a dash for what is no number.
std::string number(double value, int digits);

/// "1.5 GiB", "12 KiB".
std::string readable_bytes(double bytes);

}  // namespace hotgemm::command
