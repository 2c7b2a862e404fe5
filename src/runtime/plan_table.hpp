#pragma once

#include <hotgemm/types.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace hotgemm {

class PlanImpl;

/// A problem class, packed for comparison.
struct PlanKey {
  std::int64_t class_m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::uint64_t traits = 0;  ///< ops, types, alignment classes and beta
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

PlanKey plan_key(const Problem& problem) noexcept;

/// The plans by problem class. Finding and inserting take no lock, but callers must insert one at a time per class.
/// Entries stay in place until the table is destroyed.
class PlanTable {
 public:
  struct Slot {
    PlanKey key;
    std::shared_ptr<const PlanImpl> plan;
    bool is_provisional;  ///< not recorded and not measured: replaced when Policy::tune asks and may measure
    Slot* next;
  };

  PlanTable() = default;
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// The latest slot for `key`, or nullptr.
  const Slot* find(const PlanKey& key) const noexcept;
  void insert(const PlanKey& key, std::shared_ptr<const PlanImpl> plan, bool is_provisional);

 private:
  static constexpr std::size_t kBuckets = 1024;
  static std::size_t bucket_of(const PlanKey& key) noexcept;

  std::array<std::atomic<Slot*>, kBuckets> buckets_{};
};

}  // namespace hotgemm
