// The time to find a plan among many, of keys in random order: with its ReadGuard, as Context::gemm does it, and with
// the loads from the entry that decide whether its plan is launched. Needs no GPU.

#include "runtime/plan_table.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

/// A table with plans of `count` random classes, and their keys in another order.
struct FullTable {
  explicit FullTable(std::size_t count) : table(std::numeric_limits<std::size_t>::max()), keys(count) {
    std::mt19937_64 random(count);
    for (ClassKey& key : keys) {
      key.class_m = static_cast<std::int32_t>(1 + random() % 64);
      key.n = static_cast<decltype(key.n)>(static_cast<std::int64_t>(1 + random() % 65536));
      key.k = static_cast<decltype(key.k)>(static_cast<std::int64_t>(1 + random() % 65536));
      // Nobody owns the plan: the table alone is measured.
      table.insert(key, {std::shared_ptr<const PlanImpl>(std::shared_ptr<void>(), reinterpret_cast<PlanImpl*>(&key))});
    }
    for (std::size_t i = count; i > 1; --i) std::swap(keys[i - 1], keys[random() % i]);
  }
  static FullTable& of(std::size_t count) {
    static std::map<std::size_t, FullTable> tables;
    return tables.try_emplace(count, count).first->second;
  }

  PlanTable table;
  std::vector<ClassKey> keys;
};

void find_plan(benchmark::State& state) {
  const FullTable& full = FullTable::of(static_cast<std::size_t>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    const ReadGuard reading;
    const PlanTable::Slot* slot = full.table.find(full.keys[i]);
    bool is_unreserved = slot->entry.is_unreserved;
    benchmark::DoNotOptimize(is_unreserved);
    benchmark::DoNotOptimize(slot->entry.plan.get());
    if (++i == full.keys.size()) i = 0;
  }
}
BENCHMARK(find_plan)->Arg(10)->Arg(100)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

void insert_plans(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(FullTable(static_cast<std::size_t>(state.range(0))).table.size());
}
BENCHMARK(insert_plans)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace hotgemm
