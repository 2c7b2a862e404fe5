#include "runtime/plan_table.hpp"

#include "runtime/plan_impl.hpp"

namespace hotgemm {

PlanTable::~PlanTable() {
  for (std::atomic<Slot*>& bucket : buckets_) {
    for (Slot* slot = bucket.load(); slot != nullptr;) {
      Slot* next = slot->next;
      delete slot;
      slot = next;
    }
  }
}

const PlanTable::Slot* PlanTable::find(const ClassKey& key) const noexcept {
  const Slot* slot = buckets_[hash_of(key) % kBuckets].load(std::memory_order_acquire);
  while (slot != nullptr && !(slot->key == key)) slot = slot->next;
  return slot;
}

void PlanTable::insert(const ClassKey& key, std::shared_ptr<const PlanImpl> plan, bool is_provisional,
                       bool is_unreserved) {
  std::atomic<Slot*>& bucket = buckets_[hash_of(key) % kBuckets];
  Slot* slot = new Slot{key, std::move(plan), is_provisional, is_unreserved, bucket.load(std::memory_order_relaxed)};
  while (!bucket.compare_exchange_weak(slot->next, slot, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace hotgemm
