#include "runtime/plan_table.hpp"

#include "runtime/plan_impl.hpp"

namespace hotgemm {

PlanKey plan_key(const Problem& p) noexcept {
  const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t traits = bits(p.op_a) | bits(p.op_b) << 1 | bits(p.dtype) << 2 | bits(p.accumulator) << 4 |
                               bits(p.align_a) << 8 | bits(p.align_b) << 16 | bits(p.align_d) << 24 |
                               bits(p.beta_is_zero) << 32;
  return {class_m(p.m), p.n, p.k, traits};
}

PlanTable::~PlanTable() {
  for (std::atomic<Slot*>& bucket : buckets_) {
    for (Slot* slot = bucket.load(); slot != nullptr;) {
      Slot* next = slot->next;
      delete slot;
      slot = next;
    }
  }
}

std::size_t PlanTable::bucket_of(const PlanKey& key) noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(key.class_m), static_cast<std::uint64_t>(key.n),
                                   static_cast<std::uint64_t>(key.k), key.traits}) {
    hash = (hash ^ part) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash % kBuckets;
}

const PlanTable::Slot* PlanTable::find(const PlanKey& key) const noexcept {
  const Slot* slot = buckets_[bucket_of(key)].load(std::memory_order_acquire);
  while (slot != nullptr && !(slot->key == key)) slot = slot->next;
  return slot;
}

void PlanTable::insert(const PlanKey& key, std::shared_ptr<const PlanImpl> plan, bool is_provisional) {
  std::atomic<Slot*>& bucket = buckets_[bucket_of(key)];
  Slot* slot = new Slot{key, std::move(plan), is_provisional, bucket.load(std::memory_order_relaxed)};
  while (!bucket.compare_exchange_weak(slot->next, slot, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace hotgemm
