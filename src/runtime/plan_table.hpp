#pragma once

#include "base/block_pool.hpp"
#include "base/huge_pages.hpp"
#include "base/readers.hpp"
#include "config/class_key.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace hotgemm {

class PlanImpl;

/// A plan of a problem class.
struct PlanEntry {
  std::shared_ptr<const PlanImpl> plan;
  bool is_provisional = false;  ///< not recorded and not measured: replaced when Policy::tune asks and may measure
  bool is_interim = false;      ///< runs a loaded kernel, until the background has loaded that of the best choice
  bool is_unreserved = false;   ///< made on a capturing stream: the next other call sets workspace for captures apart
  bool is_kept = false;         ///< never pushed out: its class is promised this plan
  bool is_outdated = false;     ///< the records say something else now: the next call outside of a capture replaces it
  /// The time that the last tuning of the class took in vain, because others were measuring, and its end. 0: none did.
  std::chrono::steady_clock::duration wasted{0};
  std::chrono::steady_clock::time_point wasted_until{};
};

/// The plans by problem class, at most `max_plans` of them and those that are kept: a plan that is inserted beyond them
/// pushes out the least recently used, a sixteenth of all at a time.
///
/// Finding takes no lock and allocates nothing. It looks into an open-addressed array of keys, which doubles when it is
/// half full. A cell of the array is a cache line, so a look-up among a million plans misses the cache twice: in the
/// array, and in the slot of the plan. Inserting takes a mutex. Slots and arrays that have been replaced are freed by a
/// later insertion, when no reader can see them (see base/readers.hpp): a thread that finds a slot holds a ReadGuard as
/// long as it uses the slot. A plan itself lives as long as anyone shares it.
class PlanTable {
 public:
  /// The plan of a class, in a cache line of its own.
  struct alignas(64) Slot {
    mutable std::atomic<std::uint64_t> used{0};  ///< the number of insertions before the last use
    PlanEntry entry;
    mutable std::atomic<bool> is_outdated{false};  ///< as in PlanEntry, whose copies tell it
  };

  explicit PlanTable(std::size_t max_plans);
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// The latest slot for `key`, or nullptr; it counts as used. The caller has a ReadGuard.
  const Slot* find(const ClassKey& key) const noexcept;
  /// A copy of the latest entry for `key`. Needs no ReadGuard.
  std::optional<PlanEntry> get(const ClassKey& key, bool counts_as_use = true) const;
  /// Adds the entry, or replaces that of the same class.
  void insert(const ClassKey& key, PlanEntry entry);
  /// Removes the entry of `key`; false if there is none.
  bool erase(const ClassKey& key);
  /// Marks the latest entry of `key` as outdated, if its plan is `plan`.
  void mark_outdated(const ClassKey& key, const PlanImpl* plan) const;
  /// The classes that have a plan now.
  std::vector<ClassKey> keys() const;

  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  std::uint64_t evictions() const noexcept { return evictions_.load(std::memory_order_relaxed); }
  /// The slots and arrays that wait until no reader can see them.
  std::size_t waiting_to_be_freed() const;

 private:
  struct alignas(64) Cell {
    ClassKey key;  ///< does not change once the cell has a slot
    std::atomic<const Slot*> slot{nullptr};
  };
  static_assert(sizeof(Cell) == 64, "a comparison of keys reads one cache line");
  /// A power of two of cells. A slot lies in the first cell from the hash of its key on that was free when it came.
  struct Array {
    explicit Array(std::size_t size) : cells(size), mask(size - 1) {}
    std::vector<Cell, HugePages<Cell>> cells;
    std::size_t mask;
    std::size_t filled = 0;  ///< cells with a slot, or with kGone
  };
  /// A slot or an array that readers of `epoch` and before may still see.
  struct Waiting {
    std::uint64_t epoch = 0;  ///< 0: of the insertion that goes on
    const Slot* slot = nullptr;
    std::unique_ptr<Array> array;
  };
  /// The contents of a slot, or an array, that no reader can see.
  struct Unseen {
    PlanEntry entry;
    std::unique_ptr<Array> array;
  };

  static const Slot kGone;  ///< the slot of a cell whose plan was evicted: a search goes on behind it

  const Slot* look_up(const ClassKey& key) const noexcept;
  const Slot* make_slot(std::uint64_t now, PlanEntry entry);
  void make_room(std::size_t more);
  static Cell* cell_of(Array& array, const ClassKey& key) noexcept;
  static void put(Array& array, const ClassKey& key, const Slot* slot) noexcept;
  void evict();
  void grow();
  void retire(const Slot* slot);
  std::vector<Unseen> take_unseen();

  const std::size_t max_plans_;
  std::size_t evictable_ = 0;  // plans that are not kept; guarded by `mutex_`
  std::atomic<Array*> array_;
  std::atomic<std::uint64_t> insertions_{0};
  std::atomic<std::size_t> size_{0};
  std::atomic<std::uint64_t> evictions_{0};
  mutable std::mutex mutex_;  // held while slots are inserted; guards `slots_` and `waiting_`
  BlockPool<Slot> slots_;
  std::vector<Waiting> waiting_;  // sorted by epoch
};

}  // namespace hotgemm
