#include "config/shapes.hpp"

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "config/m_range.hpp"
#include "config/shapes_csv.hpp"
#include "config/tunableop.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace hotgemm {

namespace {

/// The files of a directory that may be lists, by name.
std::vector<std::filesystem::path> lists_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> lists;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::filesystem::path extension = it->path().extension();
    if (extension == ".txt" || extension == ".csv") lists.push_back(it->path());
  }
  if (error) {
    throw Error(ErrorCode::io_error, "cannot list the directory " + directory.string() + ": " + error.message());
  }
  std::ranges::sort(lists);
  return lists;
}

std::vector<Shape> load_directory(const std::filesystem::path& directory) {
  const std::vector<std::filesystem::path> lists = lists_in(directory);
  if (lists.empty()) {
    throw Error(ErrorCode::io_error, "the directory " + directory.string() + " has no *.txt or *.csv file of problems");
  }
  std::vector<Shape> shapes;
  for (const std::filesystem::path& list : lists) {
    for (const Shape& shape : load_shapes(list)) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

std::vector<Shape> parse_shapes(std::string_view text, std::string_view file_name) {
  text = without_byte_order_mark(text);
  if (is_tunableop(text)) return parse_tunableop(text, file_name);
  std::vector<Shape> shapes;
  std::optional<ShapesCsv> csv;
  bool is_first = true;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view problem = content.substr(0, content.find('#'));
    if (split_words(problem).empty()) continue;
    if (std::exchange(is_first, false) && ShapesCsv::begins(problem)) csv.emplace();
    const std::string where = std::string(file_name) + ":" + std::to_string(line);
    try {
      const std::string words = csv ? csv->problem(problem) : std::string(problem);
      if (words.empty()) continue;  // the names of the columns
      const RangedText ranged = split_m_range(words);
      Shape shape = parse_shape(ranged.text);
      shape.where = where;
      const auto workloads = ranged.range ? in_buckets(shape.workload, *ranged.range) : std::vector{shape.workload};
      for (const Workload& workload : workloads) {
        shape.workload = workload;
        shapes.push_back(shape);
      }
    } catch (const Error& error) {
      throw Error(error.code(), where + ": " + error.what());
    }
  }
  return shapes;
}

std::vector<Shape> load_shapes(const std::filesystem::path& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return load_directory(path);
  return parse_shapes(read_text_file(path), path.string());
}

}  // namespace hotgemm
