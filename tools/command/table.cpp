#include "command/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace hotgemm::command {
namespace {

/// The number of characters of UTF-8 text without wide characters.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& cell, std::size_t width, bool is_number) {
  const std::string space(width - width_of(cell), ' ');
  return is_number ? space + cell : cell + space;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) {  // text of a file may hold what moves a terminal's cursor
    std::ranges::replace_if(
        cell, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width_of(headings[i]));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string result;
  const auto append = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += (i == 0 ? "" : "  ") + padded(row[i], widths[i], columns_[i].is_number);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += (result.empty() ? "" : "\n") + line;
  };
  append(headings);
  for (const auto& row : rows_) append(row);
  return result;
}

std::string Table::markdown() const {
  std::string head = "|";
  std::string rule = "|";
  for (const Column& column : columns_) {
    head += " " + column.heading + " |";
    rule += column.is_number ? "---:|" : "---|";
  }
  std::string result = head + "\n" + rule;
  for (const auto& row : rows_) {
    result += "\n|";
    for (const std::string& cell : row) result += " " + cell + " |";
  }
  return result;
}

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : std::string("-");
}

std::string readable_bytes(double bytes) {
  constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const int digits = unit == 0 || bytes == std::floor(bytes) || bytes >= 100 ? 0 : 1;
  return fmt::format("{:.{}f} {}", bytes, digits, kUnits[unit]);
}

}  // namespace hotgemm::command
