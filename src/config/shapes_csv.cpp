#include "config/shapes_csv.hpp"

#include "base/refuse.hpp"
#include "config/spelling.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::string_view kOrder[] = {"m", "n", "k", "layout", "type"};

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

/// The cells of a line. Within double quotes a comma is text, and two quotes are one.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      is_quoted = !is_quoted;
    } else if (line[i] == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  if (is_quoted) refuse("a double quote is not closed");
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

}  // namespace

bool ShapesCsv::begins(std::string_view line) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return false;
  const std::string first = trimmed(line.substr(0, comma));
  // "64 64 64 nt f16 align=8,4,4" has a comma too, but a blank before it.
  return first.find_first_of(" \t") == std::string::npos || first.starts_with('"');
}

void ShapesCsv::name_columns(const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    const std::string written = lower_case(cell), name = written == "dtype" ? "type" : written;
    if (std::ranges::find(columns_, name) != columns_.end()) refuse("a second column is named " + name);
    columns_.push_back(name);
  }
  const auto has = [&](std::string_view name) { return std::ranges::find(columns_, name) != columns_.end(); };
  if (has("problem")) return;
  for (const std::string_view name : kOrder) {
    if (!has(name)) refuse("the header has no column named " + std::string(name) + ", nor one named problem");
  }
}

std::string ShapesCsv::problem(std::string_view line) {
  const std::vector<std::string> cells = cells_of(line);
  const bool is_first = std::exchange(is_first_, false);
  if (is_first && (cells[0].empty() || cells[0][0] < '0' || cells[0][0] > '9')) {
    name_columns(cells);
    return {};
  }
  if (columns_.empty()) return joined(cells);
  if (cells.size() != columns_.size()) {
    refuse(std::to_string(cells.size()) + " cells under " + std::to_string(columns_.size()) + " columns");
  }
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < cells.size(); ++i) values[columns_[i]] = cells[i];
  if (const auto whole = values.find("problem"); whole != values.end()) return whole->second;
  std::vector<std::string> words;
  for (const std::string_view name : kOrder) words.push_back(values.at(std::string(name)));
  for (const std::string& name : columns_) {
    const bool is_key = std::ranges::find(kOrder, name) == std::end(kOrder);
    if (is_key && !values.at(name).empty()) words.push_back(name + "=" + values.at(name));
  }
  return joined(words);
}

}  // namespace hotgemm
