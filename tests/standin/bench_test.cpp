#include "standin/runtime_fixture.hpp"

#include "gpu/foreign_kernel.hpp"
#include "gpu/operand_pool.hpp"
#include "tune/bench.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>

namespace hotgemm::standin {
namespace {

/// Tests of timing with the stand-in's simulated clock.
class BenchTest : public RuntimeTest {
 protected:
  /// A contender that launches the kernel of `plan` `times` times.
  Contender contender(const std::string& name, const Plan& plan, int times = 1) {
    return {name, [this, plan, times](CUstream on, int set) {
              sets_used_.push_back(set);
              const Operands operands = OperandPool::operands(pool().sets()[static_cast<std::size_t>(set)], 1, 0);
              for (int i = 0; i < times; ++i) plan.launch(on, operands);
            }};
  }
  const OperandPool& pool() {
    if (!pool_) pool_.emplace(driver_, small_case().described(), 1 << 20, 1 << 18);
    return *pool_;
  }
  RaceOptions options(TimingMode mode) {
    RaceOptions options;
    options.mode = mode;
    options.sets = static_cast<int>(pool().sets().size());
    options.rounds = 3;
    return options;
  }
  Plan plan() { return context(Policy::estimate).plan(small_case().described()); }
  void TearDown() override {
    pool_.reset();
    RuntimeTest::TearDown();
  }

  std::optional<OperandPool> pool_;
  std::vector<int> sets_used_;
};

TEST_F(BenchTest, ARaceReadsEachContendersTime) {
  for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
    const RaceResult result =
        race(driver_, stream(), std::vector{contender("once", plan()), contender("thrice", plan(), 3)}, options(mode));
    EXPECT_EQ(result.rounds_done, 3);
    EXPECT_THAT(result.failures, testing::Each(""));
    EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 0.1)));
    EXPECT_THAT(result.us[1], testing::Each(testing::DoubleNear(3000, 0.1)));
  }
}

TEST_F(BenchTest, SetsThatDifferCountEqually) {
  const auto uneven = [this](int slow_set) {
    return Contender{"uneven", [this, slow_set, plan = plan()](CUstream on, int set) {
                       const Operands operands = OperandPool::operands(pool().sets()[0], 1, 0);
                       for (int i = set == slow_set ? 3 : 1; i > 0; --i) plan.launch(on, operands);
                     }};
  };
  for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
    RaceOptions differ = options(mode);
    differ.sets = 2;
    differ.sets_differ = true;
    differ.round_us = 1;
    differ.abandon_ratio = 1.5;
    for (const bool by_blocks : {false, true}) {
      if (by_blocks) differ.blocks = BlockLengths{.load_s = 0.1, .settle_s = 0.05, .counted_s = 0.1};
      const RaceResult result = race(driver_, stream(), std::vector{uneven(0), uneven(1)}, differ);
      EXPECT_THAT(result.failures, testing::Each(""));
      for (const std::vector<double>& us : result.us) EXPECT_THAT(us, testing::Each(testing::DoubleNear(2000, 20)));
    }
  }
}

TEST_F(BenchTest, TheTimeOfTheKernelAheadIsTakenOff) {
  standin().set_speed("hotgemm_pointwise", 300);
  const ForeignKernel foreign(driver_, impl_of(context(Policy::estimate)).current().check_kernels(), stream());
  for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
    RaceOptions behind = options(mode);
    behind.ahead = foreign.launch();
    const std::size_t before = standin().launches("hotgemm_pointwise");
    const RaceResult result =
        race(driver_, stream(), std::vector{contender("once", plan()), contender("thrice", plan(), 3)}, behind);
    EXPECT_EQ(result.us.size(), 2u) << "the foreign kernel has no row";
    EXPECT_EQ(result.rounds_done, 3);
    EXPECT_THAT(result.failures, testing::Each(""));
    EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 0.1)));
    EXPECT_THAT(result.us[1], testing::Each(testing::DoubleNear(3000, 0.1)));
    EXPECT_GT(standin().launches("hotgemm_pointwise"), before + 12);
  }
}

TEST_F(BenchTest, TheSlowAreAbandonedByTheirOwnTime) {
  standin().set_speed("hotgemm_pointwise", 5000);
  const ForeignKernel foreign(driver_, impl_of(context(Policy::estimate)).current().check_kernels(), stream());
  RaceOptions hasty = options(TimingMode::eager);
  hasty.ahead = foreign.launch();
  hasty.abandon_ratio = 1.5;
  const RaceResult result =
      race(driver_, stream(), std::vector{contender("fast", plan()), contender("slow", plan(), 2)}, hasty);
  EXPECT_THAT(result.failures, testing::Each(""));
  EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 0.1)));
  EXPECT_TRUE(std::isnan(result.us[1].back()));
}

TEST_F(BenchTest, AContenderOfWhichNothingRemainsFails) {
  const ForeignKernel foreign(driver_, impl_of(context(Policy::estimate)).current().check_kernels(), stream());
  RaceOptions behind = options(TimingMode::graph);
  behind.ahead = foreign.launch();
  const Contender nothing{"nothing", [](CUstream, int) {}};
  const RaceResult result = race(driver_, stream(), std::vector{nothing, contender("good", plan())}, behind);
  EXPECT_THAT(result.failures[0], testing::HasSubstr("lost in the noise"));
  EXPECT_THAT(result.us[0], testing::Each(testing::IsNan()));
  EXPECT_EQ(result.failures[1], "");
}

TEST_F(BenchTest, AKernelAheadThatFailsIsNoFaultOfAContender) {
  RaceOptions behind = options(TimingMode::eager);
  behind.ahead = [](CUstream, int) { throw Error(ErrorCode::driver_error, "no such thing"); };
  expect_thrown(ErrorCode::driver_error, {"no such thing"},
                [&] { race(driver_, stream(), std::vector{contender("a", plan())}, behind); });
}

TEST(TimesWithout, KeepsTheRounds) {
  const double nan = std::nan("");
  EXPECT_THAT(times_without(std::vector{10.0, nan, 10.0, 7.0, 6.0, 10.0}, std::vector{2.0, 2.0, nan, 7.0, 7.0}),
              testing::ElementsAre(8.0, testing::IsNan(), testing::IsNan(), testing::IsNan(), testing::IsNan(),
                                   testing::IsNan()));
}

TEST_F(BenchTest, LaunchesTakeTheSetsInTurn) {
  const int sets = static_cast<int>(pool().sets().size());
  ASSERT_GT(sets, 2);
  race(driver_, stream(), std::vector{contender("a", plan()), contender("b", plan())}, options(TimingMode::eager));
  for (std::size_t i = 1; i < sets_used_.size(); ++i) EXPECT_EQ(sets_used_[i], (sets_used_[i - 1] + 1) % sets);
}

TEST_F(BenchTest, RoundsThatWarmUpAreForgotten) {
  standin().set_speed("hotgemm_", 50'000);  // a round of seconds, so that a busy machine has time for what is not timed
  RaceOptions warmed = options(TimingMode::eager);
  const auto once = contender("a", plan());
  const auto launches = [&] {
    sets_used_.clear();
    const RaceResult result = race(driver_, stream(), std::vector{once}, warmed);
    EXPECT_EQ(result.rounds_done, 3);
    EXPECT_EQ(result.us[0].size(), 3u);
    return sets_used_.size();
  };
  const std::size_t cold = launches();
  warmed.warm_up_us = 20'000;
  EXPECT_GT(launches(), cold);
  const auto round = std::chrono::milliseconds(1500);
  warmed.warm_up_us = 0;
  warmed.round_us = 1e3 * static_cast<double>(round.count());
  const std::size_t cold_and_long = launches();
  warmed.warm_up_us = 3.6e9;
  warmed.deadline = std::chrono::steady_clock::now() + 4 * round;
  EXPECT_GT(launches(), cold_and_long) << "it should stop when only the time of two rounds is left";
  warmed.deadline = std::chrono::steady_clock::now() + round * 29 / 10;
  EXPECT_EQ(launches(), cold_and_long) << "with one more round there would be no time for two";
}

TEST_F(BenchTest, WhatFailsWhileItWarmsUpHasNoSamples) {
  RaceOptions warmed = options(TimingMode::eager);
  warmed.warm_up_us = 20'000;
  int left = 20;
  const Contender bad{"bad", [&](CUstream, int) {
                        if (--left == 0) throw Error(ErrorCode::driver_error, "no such thing");
                      }};
  const RaceResult result = race(driver_, stream(), std::vector{bad, contender("good", plan())}, warmed);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(result.failures[0], "no such thing");
  ASSERT_EQ(result.us[0].size(), 3u);
  EXPECT_THAT(result.us[0], testing::Each(testing::IsNan()));
  EXPECT_THAT(result.us[1], testing::Each(testing::DoubleNear(1000, 0.1)));
}

TEST_F(BenchTest, AContenderThatFailsIsDroppedAlone) {
  const Contender bad{"bad", [](CUstream, int) { throw Error(ErrorCode::driver_error, "no such thing"); }};
  for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
    const RaceResult result = race(driver_, stream(), std::vector{bad, contender("good", plan())}, options(mode));
    EXPECT_EQ(result.failures[0], "no such thing");
    EXPECT_EQ(result.failures[1], "");
    EXPECT_THAT(result.us[1], testing::Each(testing::DoubleNear(1000, 0.1)));
  }
}

TEST_F(BenchTest, AContenderThatBreaksACaptureIsDroppedAlone) {
  const Contender bad{"bad", [this](CUstream on, int) {
                        driver_.check(driver_.cuStreamSynchronize(on), "wait in the middle of a capture");
                      }};
  const RaceResult result =
      race(driver_, stream(), std::vector{bad, contender("good", plan())}, options(TimingMode::graph));
  EXPECT_THAT(result.failures[0], testing::HasSubstr("in the middle of a capture"));
  EXPECT_EQ(result.failures[1], "");
  EXPECT_THAT(result.us[1], testing::Each(testing::DoubleNear(1000, 0.1)));
}

TEST_F(BenchTest, TheSlowAreAbandonedWithTheirSamples) {
  RaceOptions hasty = options(TimingMode::eager);
  hasty.abandon_ratio = 1.5;
  const RaceResult result =
      race(driver_, stream(), std::vector{contender("fast", plan()), contender("slow", plan(), 2)}, hasty);
  EXPECT_EQ(result.failures[1], "");
  EXPECT_EQ(result.rounds_done, 3);
  EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 0.1)));
  EXPECT_TRUE(std::isnan(result.us[1].back()));
}

TEST_F(BenchTest, ADeadlineThatHasPassedTimesNothing) {
  RaceOptions late = options(TimingMode::eager);
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const RaceResult result = race(driver_, stream(), std::vector{contender("a", plan())}, late);
  EXPECT_EQ(result.rounds_done, 0);
  EXPECT_THAT(result.failures[0], testing::HasSubstr("no time was left"));
  RaceOptions none = options(TimingMode::eager);
  none.sets = 0;
  expect_thrown(ErrorCode::invalid_argument, {"operand set"},
                [&] { race(driver_, stream(), std::vector{contender("a", plan())}, none); });
}

TEST_F(BenchTest, WithoutCublasThereIsNoRatio) {
  ::setenv("HOTGEMM_LIBCUBLASLT", "/nowhere/libcublasLt.so", 1);
  CublasBaseline cublas(driver_);
  ::unsetenv("HOTGEMM_LIBCUBLASLT");
  EXPECT_FALSE(cublas.available());
  const Workload problem = small_case().described();
  const auto results =
      bench_in_all_modes(driver_, stream(), contender("ours", plan()), pool().sets(), problem, cublas, BenchOptions{});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].failure, testing::HasSubstr("/nowhere/libcublasLt.so"));
  EXPECT_TRUE(std::isnan(results[0].ratio));
  const nlohmann::json json = to_json(results[0]);
  EXPECT_EQ(json.at("problem"), to_string(problem));
  EXPECT_TRUE(nlohmann::json::parse(json.dump()).at("ratio").is_null());
  EXPECT_FALSE(json.at("failure").get<std::string>().empty());
}

}  // namespace
}  // namespace hotgemm::standin
