#include "config/shapes.hpp"

#include "base/text.hpp"
#include "config/m_range.hpp"
#include "config/shapes_csv.hpp"
#include "config/tunableop.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
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
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
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
    try {
      const std::string words = csv ? csv->problem(problem) : std::string(problem);
      if (words.empty()) continue;  // the names of the columns
      const RangedText ranged = split_m_range(words);
      Shape shape = parse_shape(ranged.text);
      const auto workloads = ranged.range ? in_buckets(shape.workload, *ranged.range) : std::vector{shape.workload};
      for (const Workload& workload : workloads) {
        shape.workload = workload;
        shapes.push_back(shape);
      }
    } catch (const Error& error) {
      throw Error(error.code(), std::string(file_name) + ":" + std::to_string(line) + ": " + error.what());
    }
  }
  return shapes;
}

std::vector<Shape> load_shapes(const std::filesystem::path& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return load_directory(path);
  const auto fail = [&](const char* action) {
    return Error(ErrorCode::io_error,
                 "cannot " + std::string(action) + " the shape file " + path.string() + ": " + std::strerror(errno));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw fail("open");
  std::string text;
  char block[4096];
  while (file.read(block, sizeof block), file.gcount() > 0) text.append(block, static_cast<std::size_t>(file.gcount()));
  if (file.bad() || errno == EISDIR) throw fail("read");
  return parse_shapes(text, path.string());
}

}  // namespace hotgemm
