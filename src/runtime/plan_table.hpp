#pragma once

#include "config/class_key.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace hotgemm {

class PlanImpl;

/// The plans by problem class. Finding and inserting take no lock, but callers must insert one at a time per class.
/// Entries stay in place until the table is destroyed.
class PlanTable {
 public:
  struct Slot {
    ClassKey key;
    std::shared_ptr<const PlanImpl> plan;
    bool is_provisional;  ///< not recorded and not measured: replaced when Policy::tune asks and may measure
    bool is_unreserved;   ///< made on a capturing stream: the next other call sets workspace for captures apart
    Slot* next;
  };

  PlanTable() = default;
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// The latest slot for `key`, or nullptr.
  const Slot* find(const ClassKey& key) const noexcept;
  void insert(const ClassKey& key, std::shared_ptr<const PlanImpl> plan, bool is_provisional,
              bool is_unreserved = false);

 private:
  static constexpr std::size_t kBuckets = 1024;

  std::array<std::atomic<Slot*>, kBuckets> buckets_{};
};

}  // namespace hotgemm
