#include "runtime/plan_table.hpp"

#include "standin/runtime_fixture.hpp"

#include <atomic>
#include <latch>
#include <limits>
#include <set>
#include <thread>

namespace hotgemm::standin {
namespace {

ClassKey key_of(std::int64_t n) {
  ClassKey key;
  key.n = static_cast<decltype(key.n)>(n);
  return key;
}

/// A number that stands for a plan, and counts those that live. Its destructor spoils it.
struct Counted {
  explicit Counted(std::int64_t value, std::atomic<int>& alive) : number(value), live(alive) { ++live; }
  ~Counted() {
    number = -1;
    --live;
  }
  std::int64_t number;
  std::atomic<int>& live;
};

PlanEntry entry_of(std::int64_t number, std::atomic<int>& live) {
  const auto counted = std::make_shared<Counted>(number, live);
  return {std::shared_ptr<const PlanImpl>(counted, reinterpret_cast<const PlanImpl*>(counted.get()))};
}
std::int64_t number_in(const PlanEntry& entry) { return reinterpret_cast<const Counted*>(entry.plan.get())->number; }

TEST(PlanTable, FindsEveryPlanWhileItGrows) {
  std::atomic<int> live{0};
  {
    PlanTable table(100'000);
    for (std::int64_t n = 0; n < 20'000; ++n) table.insert(key_of(n), entry_of(n, live));
    EXPECT_EQ(table.size(), 20'000u);
    for (std::int64_t n = 0; n < 20'000; ++n) EXPECT_EQ(number_in(table.get(key_of(n)).value()), n);
    EXPECT_FALSE(table.get(key_of(20'000)));
    EXPECT_EQ(table.evictions(), 0u);
  }
  EXPECT_EQ(live, 0);
}

TEST(PlanTable, ReplacesThePlanOfAClass) {
  std::atomic<int> live{0};
  PlanTable table(10);
  for (const int number : {1, 2, 3}) table.insert(key_of(5), entry_of(number, live));
  EXPECT_EQ(number_in(table.get(key_of(5)).value()), 3);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(live, 1) << "nobody reads, so replaced plans are freed at once";
}

TEST(PlanTable, PushesOutTheLeastRecentlyUsed) {
  std::atomic<int> live{0};
  PlanTable table(32);
  for (std::int64_t n = 0; n < 1000; ++n) {
    table.insert(key_of(n), entry_of(n, live));
    if (n >= 3) {
      EXPECT_TRUE(table.get(key_of(3))) << "was used after every insertion, and pushed out by " << n;
    }
    EXPECT_LE(table.size(), 32u);
  }
  EXPECT_TRUE(table.get(key_of(999)));
  EXPECT_TRUE(table.get(key_of(980)));
  EXPECT_FALSE(table.get(key_of(900)));
  EXPECT_EQ(table.size() + table.evictions(), 1000u);
  EXPECT_EQ(live, static_cast<int>(table.size()));
  EXPECT_EQ(table.waiting_to_be_freed(), 0u);
}

TEST(PlanTable, TheLargestCapWorks) {
  std::atomic<int> live{0};
  PlanTable table(std::numeric_limits<std::int64_t>::max());
  for (std::int64_t n = 0; n < 100; ++n) table.insert(key_of(n), entry_of(n, live));
  EXPECT_EQ(table.size(), 100u);
}

TEST(PlanTable, NeverPushesOutPlansThatAreKept) {
  std::atomic<int> live{0};
  PlanTable table(16);
  const auto insert = [&](std::int64_t n, bool is_kept) {
    PlanEntry entry = entry_of(n, live);
    entry.is_kept = is_kept;
    table.insert(key_of(n), std::move(entry));
  };
  for (int repetition = 0; repetition < 2; ++repetition) {
    for (std::int64_t n = 0; n < 40; ++n) insert(n, true);
  }
  EXPECT_EQ(table.size(), 40u) << "beyond the cap";
  for (std::int64_t n = 40; n < 500; ++n) insert(n, false);
  for (std::int64_t n = 0; n < 40; ++n) EXPECT_TRUE(table.get(key_of(n))) << n;
  EXPECT_EQ(table.size(), 40u + 16u) << "kept plans take no places of others";
  EXPECT_EQ(table.size() + table.evictions(), 500u);
}

TEST(PlanTable, CountsPlansThatWereReplacedOrErasedNoMore) {
  std::atomic<int> live{0};
  PlanTable table(4);
  for (int number = 0; number < 10; ++number) table.insert(key_of(5), entry_of(number, live));
  PlanEntry kept = entry_of(6, live);
  kept.is_kept = true;
  table.insert(key_of(6), std::move(kept));
  EXPECT_TRUE(table.erase(key_of(6)));
  for (const std::int64_t n : {1, 2, 3}) table.insert(key_of(n), entry_of(n, live));
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.evictions(), 0u);
  table.insert(key_of(4), entry_of(4, live));
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.evictions(), 1u);
}

TEST(PlanTable, ATableOfOnePlanWorks) {
  std::atomic<int> live{0};
  PlanTable table(1);
  for (std::int64_t n = 0; n < 300; ++n) {
    table.insert(key_of(n), entry_of(n, live));
    EXPECT_EQ(number_in(table.get(key_of(n)).value()), n);
    EXPECT_EQ(table.size(), 1u);
  }
}

TEST(PlanTable, ASlotThatIsReadStaysWhileItIsPushedOut) {
  std::atomic<int> live{0};
  PlanTable table(4);
  table.insert(key_of(0), entry_of(0, live));
  {
    const ReadGuard reading;
    const PlanTable::Slot* slot = table.find(key_of(0));
    ASSERT_NE(slot, nullptr);
    std::thread([&] {
      for (std::int64_t n = 1; n < 100; ++n) table.insert(key_of(n), entry_of(n, live));
    }).join();
    EXPECT_EQ(table.find(key_of(0)), nullptr);
    EXPECT_EQ(number_in(slot->entry), 0);
    EXPECT_GT(table.waiting_to_be_freed(), 0u);
  }
  table.insert(key_of(100), entry_of(100, live));
  EXPECT_EQ(table.waiting_to_be_freed(), 0u);
  EXPECT_EQ(live, static_cast<int>(table.size()));
}

TEST(PlanTable, ThreadsReadWhileOthersInsertAndPushOut) {
  std::atomic<int> live{0};
  {
    PlanTable table(64);
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> found{0};
    std::latch reading(3);
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&, t] {
        std::int64_t n = t;
        for (bool is_first = true; !is_over; is_first = false, n = (n + 7) % 200) {
          const ReadGuard guard;
          if (const PlanTable::Slot* slot = table.find(key_of(n))) {
            EXPECT_EQ(number_in(slot->entry), n);
            ++found;
          }
          if (is_first) reading.count_down();
        }
      });
    }
    reading.wait();
    std::vector<std::thread> writers;
    for (int t = 0; t < 2; ++t) {
      writers.emplace_back([&, t] {
        for (std::int64_t i = 0; i < 5'000; ++i)
          table.insert(key_of((i * 13 + t) % 200), entry_of((i * 13 + t) % 200, live));
      });
    }
    for (std::thread& writer : writers) writer.join();
    is_over = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_LE(table.size(), 64u);
    EXPECT_GT(table.evictions(), 0u);
    table.insert(key_of(1000), entry_of(1000, live));
    EXPECT_EQ(live, static_cast<int>(table.size()));
  }
  EXPECT_EQ(live, 0);
}

TEST(ReadGuard, IsNestedAndLeavesItsRecordToLaterThreads) {
  const auto index_of_new_thread = [] {
    unsigned index = 0;
    std::thread([&] { index = reader_record().index; }).join();
    return index;
  };
  const unsigned first = index_of_new_thread();
  for (int i = 0; i < 20; ++i) EXPECT_LE(index_of_new_thread(), first + 1) << "records are not used again";
  const std::uint64_t ended = end_epoch();
  {
    const ReadGuard outer;
    const std::uint64_t later = end_epoch();
    { const ReadGuard inner; }
    EXPECT_GT(oldest_read(), ended);
    EXPECT_LE(oldest_read(), later) << "the inner guard ended the outer one";
  }
  EXPECT_GT(oldest_read(), end_epoch());
}

TEST(ThreadCounter, CountsOnMoreThreadsThanItHasCells) {
  ThreadCounter counter;
  std::latch start(80);
  std::vector<std::thread> threads;
  for (int t = 0; t < 80; ++t) {
    threads.emplace_back([&] {
      start.arrive_and_wait();  // all live at once, so that some share a cell
      for (int i = 0; i < 100; ++i) counter.add_one();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.sum(), 8000u);
}

// ---- in a Context ----

class MaxPlansTest : public RuntimeTest {
 protected:
  Context& limited(std::int64_t max_plans) {
    ContextOptions limits = options(Policy::estimate);
    limits.max_plans = max_plans;
    return context_.emplace(limits);
  }
};

TEST_F(MaxPlansTest, ManyShapesTakeAsMuchAsFew) {
  const auto run = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n) context_->plan(small_case(8, 16 + 8 * n, 8).described());
  };
  limited(8);
  run(0, 20);
  const auto before = live_handles();
  DeviceState& state = impl_of(context()).current();
  const std::size_t kernels = state.kernels().size();
  run(20, 200);
  EXPECT_EQ(live_handles(), before);
  EXPECT_EQ(state.kernels().size(), kernels);
  EXPECT_EQ(state.plans().waiting_to_be_freed(), 0u);
  const Stats stats = context().stats();
  EXPECT_EQ(stats.plans, 200u);
  EXPECT_LE(stats.live_plans, 8u);
  EXPECT_EQ(stats.evictions, 200u - stats.live_plans);
}

TEST_F(MaxPlansTest, APlanThatIsHeldOutlivesItsEviction) {
  limited(2);
  const Plan held = context().plan(small_case().described());
  for (std::int64_t n = 1; n < 10; ++n) context().plan(small_case(8, 16 + 8 * n, 8).described());
  expect_right(small_case(), stream(), [&](const Operands& operands) { held.launch(stream(), operands); });
  expect_right(context(), small_case(), stream());
  EXPECT_EQ(context().stats().plans, 11u) << "the class is planned again";
}

TEST_F(MaxPlansTest, ADeterministicClassKeepsItsFirstPlan) {
  limited(2);
  Workload promised = small_case().described();
  promised.order = SumOrder::deterministic;
  context().plan(promised);
  for (std::int64_t n = 1; n < 10; ++n) context().plan(small_case(8, 16 + 8 * n, 8).described());
  context().plan(promised);
  EXPECT_EQ(context().stats().plans, 10u) << "the class was planned again";
  EXPECT_EQ(context().stats().live_plans, 3u);
}

TEST_F(MaxPlansTest, ThreadsCallWhileTheirPlansArePushedOut) {
  limited(2);
  for (std::int64_t n = 0; n < 4; ++n) context().plan(small_case(8, 16 + 8 * n, 8).described());  // warms the kernels
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      driver_.cuCtxSetCurrent(cuda_context_);
      const OwnedStream own(driver_);
      for (int i = 0; i < 8; ++i) expect_right(*context_, small_case(8, 16 + 8 * ((t + i) % 4), 8), own.get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(context().stats().evictions, 0u);
}

TEST_F(MaxPlansTest, IsAnOptionAndAVariable) {
  EXPECT_EQ(ContextOptions::from_environment().max_plans, 10'000);
  ::setenv("HOTGEMM_MAX_PLANS", "77", 1);
  EXPECT_EQ(ContextOptions::from_environment().max_plans, 77);
  for (const char* bad : {"0", "-1", "ten", "10k", "99999999999999999999"}) {
    ::setenv("HOTGEMM_MAX_PLANS", bad, 1);
    expect_thrown(ErrorCode::invalid_argument, {"HOTGEMM_MAX_PLANS", "at least 1"},
                  [] { ContextOptions::from_environment(); });
  }
  ::unsetenv("HOTGEMM_MAX_PLANS");
  expect_thrown(ErrorCode::invalid_argument, {"max_plans is 0"}, [&] { limited(0); });
}

TEST(PlanTable, ErasesAPlan) {
  std::atomic<int> live{0};
  PlanTable table(4);
  for (std::int64_t n = 0; n < 4; ++n) table.insert(key_of(n), entry_of(n, live));
  EXPECT_TRUE(table.erase(key_of(2)));
  EXPECT_FALSE(table.erase(key_of(2)));
  EXPECT_FALSE(table.get(key_of(2)));
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(live, 3) << "nobody reads, so it is freed at once";
  EXPECT_EQ(table.keys().size(), 3u);
  table.insert(key_of(5), entry_of(5, live));
  EXPECT_EQ(table.evictions(), 0u) << "its place was free";
  for (int i = 0; i < 1000; ++i) {
    table.insert(key_of(2), entry_of(2, live));
    EXPECT_TRUE(table.erase(key_of(2)));
  }
  EXPECT_LE(live, 4) << "an insertion may have pushed one out";
}

TEST(PlanTable, MarksThePlanThatIsMeant) {
  std::atomic<int> live{0};
  PlanTable table(10);
  table.insert(key_of(1), entry_of(1, live));
  const PlanEntry first = table.get(key_of(1)).value();
  EXPECT_FALSE(first.is_outdated);
  table.mark_outdated(key_of(1), first.plan.get());
  EXPECT_TRUE(table.get(key_of(1))->is_outdated);
  table.insert(key_of(1), entry_of(2, live));
  table.mark_outdated(key_of(1), first.plan.get());
  EXPECT_FALSE(table.get(key_of(1))->is_outdated) << "another one is there since";
}

}  // namespace
}  // namespace hotgemm::standin
