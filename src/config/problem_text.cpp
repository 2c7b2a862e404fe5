#include "config/problem_text.hpp"

#include "base/text.hpp"
#include "config/max_size.hpp"

#include <hotgemm/error.hpp>

#include <charconv>
#include <system_error>

namespace hotgemm {

std::int64_t parse_size(std::string_view word, std::string_view what) {
  const auto fail = [&](std::string_view why) {
    return Error(ErrorCode::invalid_argument, std::string(what) + " is " + in_quotes(word) + ": " + std::string(why));
  };
  const std::string too_large = "the largest size is " + std::to_string(kMaxSize);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) throw fail(too_large);
  if (error != std::errc() || end != word.data() + word.size()) throw fail("not a decimal number");
  if (value < 0) throw fail("a size cannot be negative");
  if (value > kMaxSize) throw fail(too_large);
  return value;
}

Sizes parse_sizes(std::string_view word) {
  const std::size_t first = word.find('x');
  const std::size_t second = first == std::string_view::npos ? first : word.find('x', first + 1);
  if (second == std::string_view::npos || word.find('x', second + 1) != std::string_view::npos) {
    throw Error(ErrorCode::invalid_argument, in_quotes(word) + " is not three sizes MxNxK, as in 4096x4096x512");
  }
  return {parse_size(word.substr(0, first), "m"), parse_size(word.substr(first + 1, second - first - 1), "n"),
          parse_size(word.substr(second + 1), "k")};
}

std::pair<Op, Op> parse_layout(std::string_view word) {
  if (word == "nn") return {Op::n, Op::n};
  if (word == "nt") return {Op::n, Op::t};
  if (word == "tn") return {Op::t, Op::n};
  if (word == "tt") return {Op::t, Op::t};
  throw Error(ErrorCode::invalid_argument, "layout is " + in_quotes(word) + ": expected nn, nt, tn or tt");
}

}  // namespace hotgemm
