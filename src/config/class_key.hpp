#pragma once

#include <hotgemm/problem.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace hotgemm {

/// A problem class, packed for comparison: one byte for each field, except for sizes, which are at most kMaxSize, the
/// function of the epilogue and the SM limit. Whether an operand is prepacked is not in it: such an operand is read as
/// one of alignment class 16.
struct ClassKey {
  std::int32_t class_m = 0;
  std::int32_t n = 0;
  std::int32_t k = 0;
  Types types;
  Epilogue epilogue;
  Op op_a = Op::n;
  Op op_b = Op::n;
  SumOrder order = SumOrder::any;
  BatchKind batch_kind = BatchKind::strided;
  GroupKind group_kind = GroupKind::none;
  std::uint8_t batch_bucket = 0;  ///< see count_bucket
  std::uint8_t group_bucket = 0;
  std::uint8_t align_a = 0;
  std::uint8_t align_b = 0;
  std::uint8_t align_d = 0;
  bool beta_is_zero = true;
  WorkspaceClass workspace = WorkspaceClass::full;
  std::uint8_t unused[4] = {};
  std::uint16_t sm_limit = 0;

  using Words = std::array<std::uint64_t, 7>;
  Words words() const noexcept { return std::bit_cast<Words>(*this); }
  /// Warm calls compare: without branches, and not byte by byte.
  friend bool operator==(const ClassKey& a, const ClassKey& b) noexcept {
    const Words of_a = a.words(), of_b = b.words();
    std::uint64_t differences = 0;
    for (std::size_t i = 0; i < of_a.size(); ++i) differences |= of_a[i] ^ of_b[i];
    return differences == 0;
  }
};

// Keys are compared and hashed as words, so padding bytes with undefined values are not allowed. A field that is added
// here or to Types or Epilogue must use an unused byte, or another word.
static_assert(std::has_unique_object_representations_v<ClassKey>);
static_assert(sizeof(ClassKey) == sizeof(ClassKey::Words));

/// The bucket of a batch size, or of a number of groups: 0 for none, then one bucket for each power of two. Counts are
/// rounded up to the power of two.
std::uint8_t count_bucket(std::int64_t count) noexcept;

/// The largest count in the same bucket that a problem can have.
std::int64_t class_count(std::int64_t count) noexcept;

ClassKey class_key(const Workload& workload) noexcept;

/// A workload of the class: the one with the largest m and counts, and without prepacked operands.
Workload workload_of(const ClassKey& key);

/// The bare product of `problem`.
Workload without_epilogue(Workload problem);
ClassKey without_epilogue(ClassKey key) noexcept;

/// The product that is measured and recorded for `problem`: the bare one, with scales of blocks if there are any,
/// because these are part of the main loop. Its pick serves the fused kernels too: a record for each of them would be
/// many records.
Workload measured_product(Workload problem);
ClassKey measured_product(ClassKey key) noexcept;

/// `problem` with the largest m and counts of its class. All problems of a class are planned as this one.
Workload with_largest_sizes(Workload problem);

/// measured_product(problem) with the largest m and counts of its class: what is measured for the class. A pick for
/// a smaller m may leave a part of a tile to the larger ones, and takes up to 1.5 times as long there
/// (docs/notebook/search.md, 8). Where A is stored transposed, m is the length of its rows: then it is the largest m
/// whose rows begin at the same places in lines of the cache. Copies of rows that begin inside a sector take up to 1.5
/// times as long, and other kernels are the fastest there.
Workload largest_of_class(const Workload& problem);

/// `problem` in bf16 for f16 and the other way round, if all of its types are one of these and the sums are f32. Both
/// run at the same speed in the same kernels, so a pick for one holds for the other. Other problems have no such
/// sibling.
std::optional<Workload> with_other_16_bit_type(const Workload& problem);

std::size_t hash_of(const ClassKey& key) noexcept;

}  // namespace hotgemm
