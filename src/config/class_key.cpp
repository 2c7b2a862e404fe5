#include "config/class_key.hpp"

#include "base/member_count.hpp"
#include "config/max_size.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace hotgemm {
namespace {

// A new field must be added to the key, to `class_of` and to text. These counts fail the build as a reminder.
static_assert(member_count<Problem>() == 15 && member_count<Hints>() == 5 && member_count<Types>() == 6 &&
                  member_count<Epilogue>() == 13,
              "put the new field into class_key, class_of and problem_text, then correct the number");

}  // namespace

std::uint8_t count_bucket(std::int64_t count) noexcept {
  if (count <= 0) return 0;
  return static_cast<std::uint8_t>(1 + std::bit_width(static_cast<std::uint64_t>(count) - 1));
}

std::int64_t class_count(std::int64_t count) noexcept {
  if (count <= 0) return 0;
  return std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))), kMaxSize);
}

ClassKey class_key(const Workload& w) noexcept {
  static_assert(kMaxSize <= std::numeric_limits<std::int32_t>::max());
  return {.class_m = static_cast<std::int32_t>(class_m(w.m)),
          .n = static_cast<std::int32_t>(w.n),
          .k = static_cast<std::int32_t>(w.k),
          .types = w.types,
          .epilogue = w.epilogue,
          .op_a = w.op_a,
          .op_b = w.op_b,
          .order = w.order,
          .batch_kind = w.batch_kind,
          .group_kind = w.group_kind,
          .batch_bucket = count_bucket(w.batch),
          .group_bucket = count_bucket(w.groups),
          .align_a = static_cast<std::uint8_t>(w.hints.align_a),
          .align_b = static_cast<std::uint8_t>(w.hints.align_b),
          .align_d = static_cast<std::uint8_t>(w.hints.align_d),
          .beta_is_zero = w.hints.beta_is_zero,
          .workspace = w.hints.workspace,
          .sm_limit = static_cast<std::uint16_t>(w.sm_limit)};
}

Workload workload_of(const ClassKey& key) {
  const auto count_of = [](std::uint8_t bucket) {
    return bucket == 0 ? 0 : class_count(std::int64_t{1} << (bucket - 1));
  };
  return {{.m = key.class_m,
           .n = key.n,
           .k = key.k,
           .op_a = key.op_a,
           .op_b = key.op_b,
           .types = key.types,
           .order = key.order,
           .sm_limit = key.sm_limit,
           .batch = count_of(key.batch_bucket),
           .batch_kind = key.batch_kind,
           .group_kind = key.group_kind,
           .groups = count_of(key.group_bucket),
           .epilogue = key.epilogue},
          {.align_a = key.align_a,
           .align_b = key.align_b,
           .align_d = key.align_d,
           .beta_is_zero = key.beta_is_zero,
           .workspace = key.workspace}};
}

Workload without_epilogue(Workload problem) {
  problem.epilogue = {};
  return problem;
}

ClassKey without_epilogue(ClassKey key) noexcept {
  key.epilogue = {};
  return key;
}

namespace {

Epilogue in_main_loop(const Epilogue& e) {
  return e.has_block_scales() ? Epilogue{.scale_a = e.scale_a, .scale_b = e.scale_b} : Epilogue{};
}

}  // namespace

Workload measured_product(Workload problem) {
  problem.epilogue = in_main_loop(problem.epilogue);
  return problem;
}

ClassKey measured_product(ClassKey key) noexcept {
  key.epilogue = in_main_loop(key.epilogue);
  return key;
}

Workload with_largest_sizes(Workload problem) {
  if (problem.m > 0) problem.m = class_m(problem.m);
  problem.batch = class_count(problem.batch);
  problem.groups = class_count(problem.groups);
  return problem;
}

Workload largest_of_class(const Workload& problem) {
  constexpr std::int64_t kPeriod = 64;  // elements of 16 bits in a line
  Workload largest = with_largest_sizes(measured_product(problem));
  if (problem.op_a == Op::t) largest.m -= (largest.m - problem.m) % kPeriod;
  return largest;
}

std::optional<Workload> with_other_16_bit_type(const Workload& problem) {
  Workload result = problem;
  if (problem.types == kF16) {
    result.types = kBf16;
  } else if (problem.types == kBf16) {
    result.types = kF16;
  } else {
    return std::nullopt;
  }
  return result;
}

std::size_t hash_of(const ClassKey& key) noexcept {
  const ClassKey::Words words = key.words();
  // One odd multiplier per word, so that the products do not wait for each other.
  constexpr ClassKey::Words kMultipliers{0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u,
                                         0xff51afd7ed558ccdu, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu,
                                         0xe7037ed1a0b428dbu};
  std::uint64_t sum = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return (((words[kIndex] ^ (words[kIndex] >> 32)) * kMultipliers[kIndex]) + ...);
  }
  (std::make_index_sequence<std::tuple_size_v<ClassKey::Words>>());
  sum ^= sum >> 32;
  sum *= 0xc4ceb9fe1a85ec53u;
  return static_cast<std::size_t>(sum ^ (sum >> 32));
}

}  // namespace hotgemm
