#pragma once

#include <hotgemm/problem.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// Sizes of m, written "FIRST:LAST".
struct MRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

/// Throws Error{invalid_argument} unless 1 <= FIRST <= LAST.
MRange parse_m_range(std::string_view text);

/// The text of a problem whose m may be a range: "1:4096 4096 512 nt f16", "1:64x4096x512".
struct RangedText {
  std::optional<MRange> range;
  std::string text;  ///< with the last m of the range
};
RangedText split_m_range(std::string_view text);

/// `workload` in each bucket of m in `range`, with the end of the bucket (`class_m`), but at most the last m, as its m.
/// If it is packed, each is. Where A is stored transposed, its alignment then depends on m, and a bucket has a workload
/// for each alignment in it.
std::vector<Workload> in_buckets(const Workload& workload, MRange range);

}  // namespace hotgemm
