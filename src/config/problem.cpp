#include <hotgemm/error.hpp>
#include <hotgemm/problem.hpp>

#include "config/element_size.hpp"
#include "config/max_size.hpp"
#include "config/prepacked.hpp"
#include "config/work.hpp"

#include <algorithm>
#include <bit>

namespace hotgemm {
namespace {

/// The alignment class of packed rows of `elements` elements.
int packed_class(std::int64_t elements, DType type) {
  const auto bytes = static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(element_size(type));
  return 1 << std::countr_zero(bytes | 16);
}

/// The classes that the operands of `p` have at least.
Hints raised(Hints hints, const Problem& p) {
  hints.align_a = std::max(hints.align_a, p.prepacked_a ? kPrepackedAlignment : element_size(p.types.a));
  hints.align_b = std::max(hints.align_b, p.prepacked_b ? kPrepackedAlignment : element_size(p.types.b));
  hints.align_d = std::max({hints.align_d, element_size(p.types.c), element_size(p.types.d)});
  return hints;
}

}  // namespace

Hints packed_hints(const Problem& p) {
  const Hints packed{
      .align_a = packed_class(p.op_a == Op::n ? p.k : p.m, p.types.a),
      .align_b = packed_class(p.op_b == Op::n ? p.n : p.k, p.types.b),
      .align_d = std::min(packed_class(columns_of_d(p), p.types.c), packed_class(columns_of_d(p), p.types.d))};
  return raised(packed, p);
}

Workload::Workload() : Workload(Problem{}, Hints{}) {}

Workload::Workload(const Problem& problem, const Hints& known_hints)
    : Problem(problem), hints(raised(known_hints, problem)) {}

std::int64_t class_m(std::int64_t m) {
  constexpr std::int64_t kAllPowers = 16, kTwoBuckets = 128;  // up to each: one or two buckets between powers of two
  constexpr std::int64_t kBuckets = 8;                        // the buckets between larger powers of two
  if (m <= 1) return 1;
  if (m >= kMaxSize) return kMaxSize;
  // The step comes from m - 1, so that a power of two is the end of a bucket.
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(m - 1)));
  const std::int64_t step = m <= kAllPowers ? below : m <= kTwoBuckets ? below / 2 : below / kBuckets;
  return std::min((m + step - 1) & -step, kMaxSize);  // the last bucket ends at the largest size
}

}  // namespace hotgemm
