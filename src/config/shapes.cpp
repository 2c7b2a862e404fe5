#include "config/shapes.hpp"

#include "base/text.hpp"
#include "config/problem_text.hpp"

#include <hotgemm/error.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <tuple>

namespace hotgemm {

namespace {

int packed_alignment(std::int64_t row_elements, DType dtype) {
  const std::int64_t bytes = row_elements * size_bytes(dtype);
  for (const int alignment : {16, 8, 4}) {
    if (bytes % alignment == 0) return alignment;
  }
  return 2;
}

Problem parse_line(const std::vector<std::string_view>& words) {
  if (words.size() < 5) {
    throw Error(ErrorCode::invalid_argument, "the line ends after " + in_quotes(words.back()) +
                                                 ": expected m n k layout dtype, as in 4096 4096 512 nt f16");
  }
  if (words.size() > 5) {
    throw Error(ErrorCode::invalid_argument, in_quotes(words[5]) + " follows m n k layout dtype");
  }
  Problem problem;
  problem.m = parse_size(words[0], "m");
  problem.n = parse_size(words[1], "n");
  problem.k = parse_size(words[2], "k");
  std::tie(problem.op_a, problem.op_b) = parse_layout(words[3]);
  problem.dtype = parse_dtype(words[4]);
  return with_packed_alignment(problem);
}

}  // namespace

std::vector<Problem> parse_shapes(std::string_view text, std::string_view file_name) {
  std::vector<Problem> problems;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::vector<std::string_view> words = split_words(content.substr(0, content.find('#')));
    if (words.empty()) continue;
    try {
      problems.push_back(parse_line(words));
    } catch (const Error& error) {
      throw Error(error.code(), std::string(file_name) + ":" + std::to_string(line) + ": " + error.what());
    }
  }
  return problems;
}

std::vector<Problem> load_shapes(const std::filesystem::path& path) {
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

Problem parse_shape(std::string_view text) {
  Problem problem;
  const Sizes sizes = parse_sizes(text);
  problem.m = sizes.m;
  problem.n = sizes.n;
  problem.k = sizes.k;
  return problem;
}

Problem with_packed_alignment(Problem problem) {
  problem.align_a = packed_alignment(problem.op_a == Op::n ? problem.k : problem.m, problem.dtype);
  problem.align_b = packed_alignment(problem.op_b == Op::n ? problem.n : problem.k, problem.dtype);
  problem.align_d = packed_alignment(problem.n, problem.dtype);
  return problem;
}

}  // namespace hotgemm
