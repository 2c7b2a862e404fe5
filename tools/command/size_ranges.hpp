#pragma once

#include "config/problem_text.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// The sizes of a text: "4096x4096x512"; "256:16384:256", which are squares; or a range in place of m, n or k, and then
/// all combinations: "1024:4096:*2x4096x512". A range is FIRST:LAST:STEP, or FIRST:LAST:*FACTOR. The last size varies
/// fastest. Throws Error{invalid_argument} that names the text, also for more than kMostSizes.
std::vector<Sizes> parse_size_ranges(const std::string& text);

inline constexpr std::size_t kMostSizes = 10000;

/// The grids of sizes on which the material runs its kernels, for `parse_size_ranges`: m and n of 4096 to 16384 with k
/// of 2048 to 8192, and m and n of 1024 to 16384 with k of 512 to 8192, in powers of two.
inline constexpr const char* kGridOf27 = "4096:16384:*2x4096:16384:*2x2048:8192:*2";
inline constexpr const char* kGridOf125 = "1024:16384:*2x1024:16384:*2x512:8192:*2";

}  // namespace hotgemm::command
