#pragma once

#include <hotgemm/problem.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hotgemm {

/// Parses a decimal number from 0 to kMaxSize (max_size.hpp). Throws Error{invalid_argument} that names `what` (such as
/// "m") and says what was expected.
std::int64_t parse_size(std::string_view word, std::string_view what);

struct Sizes {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// "4096x4096x512" or "4096 4096 512". Throws Error{invalid_argument}.
Sizes parse_sizes(std::string_view text);

/// "nt" is {Op::n, Op::t}: op A, then op B. Throws Error{invalid_argument}.
std::pair<Op, Op> parse_layout(std::string_view word);

/// "16,8,2" for A, B and D, or one number for all; each is 1, 2, 4, 8 or 16. Throws Error{invalid_argument}.
void parse_alignments(std::string_view text, Hints& hints);

/// "f32", or with a mode "f32,fast". Throws Error{invalid_argument}.
void parse_accumulation(std::string_view text, Types& types);

/// A workload, and the facts about its use from a list of problems.
struct Shape {
  Workload workload;
  std::int64_t count = 1;  ///< number of times that it occurs
  double us = 0;           ///< microseconds that it takes with other software; 0: not known
  std::string where{};     ///< "FILE:LINE", for messages; empty if it is from no file
};

/// The grammar of include/hotgemm/problem.hpp, with two more keys: "count=12" and "us=211.5". Throws
/// Error{invalid_argument} that names the bad word.
Shape parse_shape(std::string_view text);

/// The keys of a problem and of its hints: "c, acc, order, …".
std::string problem_keys();

}  // namespace hotgemm
