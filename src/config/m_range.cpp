#include "config/m_range.hpp"

#include "base/text.hpp"
#include "config/problem_text.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <tuple>

namespace hotgemm {
namespace {

constexpr std::int64_t kPeriod = 16;  // of the alignment class of m elements, which have at least a byte

auto alignments(const Hints& hints) { return std::tie(hints.align_a, hints.align_b, hints.align_d); }

/// `workload` with another m.
Workload with_m(Workload workload, std::int64_t m, bool is_packed) {
  workload.m = m;
  if (!is_packed) return workload;
  Hints hints = packed_hints(workload);
  hints.beta_is_zero = workload.hints.beta_is_zero;
  hints.workspace = workload.hints.workspace;
  return {workload, hints};
}

}  // namespace

MRange parse_m_range(std::string_view text) {
  const std::size_t colon = text.find(':');
  MRange range{parse_size(text.substr(0, colon), "m"), 0};
  if (colon != std::string_view::npos) range.last = parse_size(text.substr(colon + 1), "m");
  if (range.first >= 1 && range.first <= range.last) return range;
  throw Error(ErrorCode::invalid_argument, "m is " + in_quotes(text) + ": expected FIRST:LAST, as in 1:4096");
}

RangedText split_m_range(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \txX", begin), text.size());
  const std::string_view m = text.substr(begin, end - begin);
  if (m.find(':') == std::string_view::npos) return {std::nullopt, std::string(text)};
  const MRange range = parse_m_range(m);
  return {range, std::to_string(range.last) + std::string(text.substr(end))};
}

std::vector<Workload> in_buckets(const Workload& workload, MRange range) {
  const bool is_packed = alignments(workload.hints) == alignments(packed_hints(workload));
  std::vector<Workload> all;
  for (std::int64_t first = range.first; first <= range.last; first = class_m(first) + 1) {
    const std::int64_t last = std::min(class_m(first), range.last);
    const std::size_t begin = all.size();
    for (std::int64_t m = last; m >= std::max(first, last - kPeriod + 1); --m) {
      Workload one = with_m(workload, m, is_packed);
      const auto is_alike = [&](const Workload& other) { return other.hints == one.hints; };
      if (std::none_of(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(), is_alike)) {
        all.push_back(std::move(one));
      }
    }
  }
  return all;
}

}  // namespace hotgemm
