#include "base/readers.hpp"

#include <algorithm>
#include <limits>

namespace hotgemm {
namespace {

std::atomic<ReaderRecord*> records{nullptr};  // the list only grows

/// Leaves the thread's record to others when the thread ends.
struct RecordOwner {
  ~RecordOwner() {
    ReaderRecord* record = readers::own_record;
    readers::own_record = nullptr;
    if (record != nullptr) record->is_taken.store(false, std::memory_order_release);
  }
};

ReaderRecord* take_free_record() {
  for (ReaderRecord* record = records.load(); record != nullptr; record = record->next) {
    bool is_taken = false;
    if (record->is_taken.compare_exchange_strong(is_taken, true, std::memory_order_acquire)) return record;
  }
  return nullptr;
}

ReaderRecord* add_record() {
  static std::atomic<unsigned> count{0};
  auto* record = new ReaderRecord;
  record->index = count++;
  record->next = records.load();
  while (!records.compare_exchange_weak(record->next, record)) {
  }
  return record;
}

}  // namespace

constinit thread_local ReaderRecord* readers::own_record = nullptr;
std::atomic<std::uint64_t> readers::epoch{1};

ReaderRecord& reader_record() {
  if (readers::own_record != nullptr) return *readers::own_record;
  thread_local RecordOwner owner;
  (void)owner;
  ReaderRecord* record = take_free_record();
  readers::own_record = record != nullptr ? record : add_record();
  return *readers::own_record;
}

std::uint64_t end_epoch() noexcept { return readers::epoch.fetch_add(1); }

std::uint64_t oldest_read() noexcept {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const ReaderRecord* record = records.load(); record != nullptr; record = record->next) {
    if (const std::uint64_t epoch = record->epoch.load(); epoch != 0) oldest = std::min(oldest, epoch);
  }
  return oldest;
}

}  // namespace hotgemm
