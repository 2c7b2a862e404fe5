#include "runtime/plan_table.hpp"

#include "runtime/plan_impl.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kFirstCells = 64;
constexpr std::size_t kEvictedPart = 16;  // one of 16 plans goes at a time, so that few insertions look at all slots

}  // namespace

constinit const PlanTable::Slot PlanTable::kGone{};

PlanTable::PlanTable(std::size_t max_plans) : max_plans_(max_plans), array_(new Array(kFirstCells)) {}

PlanTable::~PlanTable() {
  const std::unique_ptr<Array> array(array_.load());
  for (const Cell& cell : array->cells) {
    if (const Slot* slot = cell.slot; slot != nullptr && slot != &kGone) slots_.destroy(slot);
  }
  for (const Waiting& one : waiting_) {
    if (one.slot != nullptr) slots_.destroy(one.slot);
  }
}

// The loads of `array_` and of slots have sequential consistency, as base/readers.hpp demands. A slot that is seen
// shows that the key beside it was written.
const PlanTable::Slot* PlanTable::look_up(const ClassKey& key) const noexcept {
  const Array& array = *array_.load();
  for (std::size_t i = hash_of(key);; ++i) {
    const Cell& cell = array.cells[i & array.mask];
    const Slot* slot = cell.slot.load();
    if (slot == nullptr) return nullptr;
    if (slot != &kGone && cell.key == key) return slot;
  }
}

const PlanTable::Slot* PlanTable::find(const ClassKey& key) const noexcept {
  const Slot* slot = look_up(key);
  if (slot == nullptr) return nullptr;
  // Warm calls read this line only, and do not write to it, while no class is inserted.
  const std::uint64_t now = insertions_.load(std::memory_order_relaxed);
  if (slot->used.load(std::memory_order_relaxed) != now) slot->used.store(now, std::memory_order_relaxed);
  return slot;
}

std::optional<PlanEntry> PlanTable::get(const ClassKey& key, bool counts_as_use) const {
  const ReadGuard reading;
  const Slot* slot = counts_as_use ? find(key) : look_up(key);
  if (slot == nullptr) return std::nullopt;
  PlanEntry entry = slot->entry;
  entry.is_outdated = slot->is_outdated;
  return entry;
}

void PlanTable::mark_outdated(const ClassKey& key, const PlanImpl* plan) const {
  const ReadGuard reading;
  const Slot* slot = look_up(key);
  if (slot != nullptr && slot->entry.plan.get() == plan) slot->is_outdated = true;
}

std::vector<ClassKey> PlanTable::keys() const {
  std::vector<ClassKey> keys;
  const std::lock_guard lock(mutex_);
  for (const Cell& cell : array_.load()->cells) {
    if (const Slot* slot = cell.slot; slot != nullptr && slot != &kGone) keys.push_back(cell.key);
  }
  return keys;
}

PlanTable::Cell* PlanTable::cell_of(Array& array, const ClassKey& key) noexcept {
  for (std::size_t i = hash_of(key);; ++i) {
    Cell& cell = array.cells[i & array.mask];
    const Slot* slot = cell.slot;
    if (slot == nullptr) return nullptr;
    if (slot != &kGone && cell.key == key) return &cell;
  }
}

void PlanTable::put(Array& array, const ClassKey& key, const Slot* slot) noexcept {
  std::size_t i = hash_of(key);
  while (array.cells[i & array.mask].slot.load() != nullptr) ++i;
  Cell& cell = array.cells[i & array.mask];
  cell.key = key;
  cell.slot.store(slot);
  ++array.filled;
}

void PlanTable::insert(const ClassKey& key, PlanEntry entry) {
  std::vector<Unseen> unseen;  // freed after the lock
  const std::lock_guard lock(mutex_);
  make_room(std::min<std::size_t>(max_plans_, size_) / kEvictedPart + 3);
  const std::uint64_t now = insertions_.fetch_add(1) + 1;
  const bool is_evictable = !entry.is_kept;
  if (Cell* cell = cell_of(*array_.load(), key)) {
    const Slot* slot = make_slot(now, std::move(entry));
    if (!cell->slot.load()->entry.is_kept) --evictable_;
    retire(cell->slot.exchange(slot));
  } else {
    if (is_evictable && evictable_ >= max_plans_) evict();
    if (2 * (array_.load()->filled + 1) > array_.load()->cells.size()) grow();
    put(*array_.load(), key, make_slot(now, std::move(entry)));
    ++size_;
  }
  if (is_evictable) ++evictable_;
  unseen = take_unseen();
}

bool PlanTable::erase(const ClassKey& key) {
  std::vector<Unseen> unseen;  // freed after the lock
  const std::lock_guard lock(mutex_);
  make_room(1);
  Cell* cell = cell_of(*array_.load(), key);
  if (cell == nullptr) return false;
  const Slot* slot = cell->slot.exchange(&kGone);
  if (!slot->entry.is_kept) --evictable_;
  --size_;
  retire(slot);
  unseen = take_unseen();
  return true;
}

const PlanTable::Slot* PlanTable::make_slot(std::uint64_t now, PlanEntry entry) {
  const bool is_outdated = entry.is_outdated;
  const Slot* slot = slots_.make(now, std::move(entry));
  slot->is_outdated = is_outdated;
  return slot;
}

/// Makes room for more that waits, so that nothing can fail between hiding and retiring.
void PlanTable::make_room(std::size_t more) {
  const std::size_t needed = waiting_.size() + more;
  if (needed > waiting_.capacity()) waiting_.reserve(std::max(needed, 2 * waiting_.capacity()));
}

/// Takes the least recently used slots out of the array, but none that is kept.
void PlanTable::evict() {
  std::vector<std::pair<std::uint64_t, Cell*>> by_use;  // copies, because the times change meanwhile
  by_use.reserve(evictable_);
  for (Cell& cell : array_.load()->cells) {
    const Slot* slot = cell.slot;
    if (slot == nullptr || slot == &kGone || slot->entry.is_kept) continue;
    by_use.emplace_back(slot->used.load(std::memory_order_relaxed), &cell);
  }
  const std::size_t count = std::max<std::size_t>(max_plans_ / kEvictedPart, 1);
  std::ranges::nth_element(by_use, by_use.begin() + static_cast<std::ptrdiff_t>(count - 1));
  for (std::size_t i = 0; i < count; ++i) retire(by_use[i].second->slot.exchange(&kGone));
  size_ -= count;
  evictable_ -= count;
  evictions_ += count;
}

/// Makes an array that is at most a third full, without the cells of evicted slots.
void PlanTable::grow() {
  auto larger = std::make_unique<Array>(std::max(kFirstCells, std::bit_ceil(3 * (size_ + 1))));
  for (const Cell& cell : array_.load()->cells) {
    if (const Slot* slot = cell.slot; slot != nullptr && slot != &kGone) put(*larger, cell.key, slot);
  }
  waiting_.push_back({0, nullptr, std::unique_ptr<Array>(array_.exchange(larger.release()))});
}

void PlanTable::retire(const Slot* slot) { waiting_.push_back({0, slot, nullptr}); }

/// Ends the epoch of what was retired, and takes out what no reader can see any more.
std::vector<PlanTable::Unseen> PlanTable::take_unseen() {
  if (waiting_.empty()) return {};
  const std::uint64_t ended = waiting_.back().epoch == 0 ? end_epoch() : 0;
  for (auto one = waiting_.rbegin(); one != waiting_.rend() && one->epoch == 0; ++one) one->epoch = ended;
  const std::uint64_t oldest = oldest_read();
  const auto seen = std::ranges::find_if(waiting_, [&](const Waiting& one) { return one.epoch >= oldest; });
  std::vector<Unseen> unseen;
  unseen.reserve(static_cast<std::size_t>(seen - waiting_.begin()));
  for (auto one = waiting_.begin(); one != seen; ++one) {
    unseen.push_back({{}, std::move(one->array)});
    if (one->slot == nullptr) continue;
    unseen.back().entry = std::move(const_cast<Slot*>(one->slot)->entry);  // nobody else sees it
    slots_.destroy(one->slot);
  }
  waiting_.erase(waiting_.begin(), seen);
  return unseen;
}

std::size_t PlanTable::waiting_to_be_freed() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace hotgemm
