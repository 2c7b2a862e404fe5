#pragma once

#include <atomic>
#include <cstdint>

// Readers of data that other threads replace and free, without locks.
//
// The scheme is one of epochs. The process has an epoch, a number that only grows, and each thread that reads has a
// record. A reader writes the epoch into its record, follows pointers, and clears the record. A writer first takes an
// object out of sight, then ends the epoch: readers that begin later cannot see the object. It may free the object when
// no record holds that epoch or an earlier one. Entering is one store with a barrier, which a CPU does in about 5 ns,
// and leaving is one plain store; neither touches a cache line that another thread writes. No reader waits for anyone.
// A writer does not wait either: it frees what it can, and the rest later. A reader that stands still keeps the objects
// that are replaced meanwhile.

namespace hotgemm {

/// The record of a thread, from its first read to its end. Records are never freed: threads that end leave theirs to
/// others.
struct alignas(64) ReaderRecord {
  std::atomic<std::uint64_t> epoch{0};  ///< of the reading that goes on; 0: none
  std::atomic<bool> is_taken{true};
  unsigned index = 0;  ///< from 0; no two threads that live have the same
  ReaderRecord* next = nullptr;
};

/// The record of the calling thread. Allocates at the thread's first call.
ReaderRecord& reader_record();

namespace readers {
extern constinit thread_local ReaderRecord* own_record;  // nullptr until the first read
extern std::atomic<std::uint64_t> epoch;                 // from 1
}  // namespace readers

/// As long as it lives, objects that the calling thread finds by shared pointers stay. May be nested.
class ReadGuard {
 public:
  ReadGuard() : record_(readers::own_record != nullptr ? *readers::own_record : reader_record()) {
    is_outer_ = record_.epoch.load(std::memory_order_relaxed) == 0;
    if (is_outer_) record_.epoch.store(readers::epoch.load());  // seq_cst: before all loads of shared pointers
  }
  ~ReadGuard() {
    if (is_outer_) record_.epoch.store(0, std::memory_order_release);
  }
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

 private:
  ReaderRecord& record_;
  bool is_outer_;
};

/// Ends the epoch and returns it. Objects that were taken out of sight before (by stores with seq_cst) may be freed
/// once `oldest_read()` is greater.
std::uint64_t end_epoch() noexcept;
/// The earliest epoch of a reading that goes on; the largest number if there is none.
std::uint64_t oldest_read() noexcept;

/// A count that many threads raise, each in a cell of its own.
class ThreadCounter {
 public:
  void add_one() {
    const unsigned index = readers::own_record != nullptr ? readers::own_record->index : reader_record().index;
    std::atomic<std::uint64_t>& cell = cells_[index < kShared ? index : kShared].count;
    if (index < kShared) {
      cell.store(cell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // no other thread writes it
    } else {
      cell.fetch_add(1, std::memory_order_relaxed);
    }
  }
  std::uint64_t sum() const noexcept {
    std::uint64_t sum = 0;
    for (const Cell& cell : cells_) sum += cell.count.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr unsigned kShared = 63;  // the cell of all threads with higher indexes
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> count{0};
  };
  Cell cells_[kShared + 1];
};

}  // namespace hotgemm
