#pragma once

#include <hotgemm/types.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace hotgemm {

/// A decimal number from 0 to kMaxSize (max_size.hpp). Throws Error{invalid_argument} that says what `what` ("m")
/// should have been.
std::int64_t parse_size(std::string_view word, std::string_view what);

struct Sizes {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// "4096x4096x512". Throws Error{invalid_argument}.
Sizes parse_sizes(std::string_view word);

/// "nt" is {Op::n, Op::t}: op A, then op B. Throws Error{invalid_argument}.
std::pair<Op, Op> parse_layout(std::string_view word);

}  // namespace hotgemm
