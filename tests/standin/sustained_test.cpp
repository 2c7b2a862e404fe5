#include "standin/runtime_fixture.hpp"

#include "gpu/operand_pool.hpp"
#include "gpu/sustained.hpp"

#include <chrono>
#include <cmath>
#include <set>

namespace hotgemm::standin {
namespace {

/// Tests of blocks with the stand-in's simulated clock. There is no NVML.
class SustainedTest : public RuntimeTest {
 protected:
  /// A contender that launches the kernel, which takes a millisecond, `times(launch)` times.
  Contender contender(const std::string& name, std::function<int(int)> times) {
    auto launches = std::make_shared<int>(0);
    return {name, [this, name, times = std::move(times), launches, plan = plan()](CUstream on, int set) {
              if (order_.empty() || order_.back() != name) order_.push_back(name);
              sets_used_.push_back(set);
              const Operands operands = OperandPool::operands(pool().sets()[static_cast<std::size_t>(set)], 1, 0);
              for (int i = times((*launches)++); i > 0; --i) plan.launch(on, operands);
            }};
  }
  Contender contender(const std::string& name, int times) {
    return contender(name, [times](int) { return times; });
  }
  const OperandPool& pool() {
    if (!pool_) pool_.emplace(driver_, small_case().described(), 1 << 20, 1 << 18);
    return *pool_;
  }
  RaceOptions options(TimingMode mode = TimingMode::eager) {
    RaceOptions options;
    options.mode = mode;
    options.sets = static_cast<int>(pool().sets().size());
    options.rounds = 3;
    options.blocks = BlockLengths{.load_s = 0.1, .settle_s = 0.05, .counted_s = 0.1};
    return options;
  }
  Plan plan() { return context(Policy::estimate).plan(small_case().described()); }
  void TearDown() override {
    pool_.reset();
    RuntimeTest::TearDown();
  }

  std::optional<OperandPool> pool_;
  std::vector<std::string> order_;
  std::vector<int> sets_used_;
};

TEST_F(SustainedTest, BlocksReadEachContendersTime) {
  for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
    const RaceResult result =
        race(driver_, stream(), std::vector{contender("once", 1), contender("thrice", 3)}, options(mode));
    EXPECT_EQ(result.rounds_done, 3);
    EXPECT_THAT(result.failures, testing::Each(""));
    ASSERT_EQ(result.us.size(), 2u);
    EXPECT_THAT(result.us[0], testing::AllOf(testing::SizeIs(3), testing::Each(testing::DoubleNear(1000, 1))));
    EXPECT_THAT(result.us[1], testing::AllOf(testing::SizeIs(3), testing::Each(testing::DoubleNear(3000, 3))));
    ASSERT_EQ(result.blocks.size(), 2u);
    EXPECT_EQ(result.blocks[0].unsteady, 0);
    EXPECT_EQ(verdict_of(result.blocks[0].clock), PowerVerdict::unknown) << "there is no NVML";
    EXPECT_EQ(result.power_limit_w, 0);
  }
}

TEST_F(SustainedTest, PassesGoForthAndBackAndLaunchesTakeTheSetsInTurn) {
  const std::vector<Contender> both{contender("a", 1), contender("b", 1)};
  race(driver_, stream(), both, options());
  EXPECT_THAT(order_, testing::ElementsAre("a", "b", "a", "b", "a", "b")) << "estimates of a and b, then ab ba ab";
  const int sets = static_cast<int>(pool().sets().size());
  ASSERT_GT(sets, 2);
  for (std::size_t i = 1; i < sets_used_.size(); ++i) EXPECT_EQ(sets_used_[i], (sets_used_[i - 1] + 1) % sets);
}

TEST_F(SustainedTest, LoadAndSettlingDoNotCount) {
  // The first 0.1 s of load and 0.05 s of settling take twice as long for each launch: 75 launches and the estimates.
  const Contender slow_at_first = contender("a", [](int launch) { return launch < 77 ? 2 : 1; });
  const RaceResult result = race(driver_, stream(), std::vector{slow_at_first}, options());
  EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 1)));
  EXPECT_EQ(result.blocks[0].unsteady, 0);
}

TEST_F(SustainedTest, ABlockThatDriftsIsRepeated) {
  // Some launches in the second half of the first counted part take twice as long.
  const Contender disturbed = contender("a", [](int launch) { return launch > 215 && launch < 240 ? 2 : 1; });
  const RaceResult result = race(driver_, stream(), std::vector{disturbed}, options());
  EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 1)));
  EXPECT_EQ(result.blocks[0].unsteady, 0);
}

TEST_F(SustainedTest, ABlockThatAlwaysDriftsIsKeptAndSaid) {
  // Slower with every launch.
  const Contender drifting = contender("a", [](int launch) { return 1 + launch * launch / 100; });
  const RaceResult result = race(driver_, stream(), std::vector{drifting}, options());
  EXPECT_EQ(result.failures[0], "");
  EXPECT_EQ(result.us[0].size(), 3u);
  EXPECT_GT(result.blocks[0].unsteady, 0);
}

TEST_F(SustainedTest, AContenderThatFailsIsDroppedAlone) {
  int left = 40;
  const Contender bad{"bad", [&left, good = contender("x", 1)](CUstream on, int set) {
                        if (--left == 0) throw Error(ErrorCode::driver_error, "no such thing");
                        good.launch(on, set);
                      }};
  const RaceResult result = race(driver_, stream(), std::vector{contender("good", 1), bad}, options());
  EXPECT_EQ(result.failures[0], "");
  EXPECT_EQ(result.failures[1], "no such thing");
  EXPECT_THAT(result.us[0], testing::Each(testing::DoubleNear(1000, 1)));
  EXPECT_THAT(result.us[1], testing::AllOf(testing::SizeIs(3), testing::Each(testing::IsNan())));
}

TEST_F(SustainedTest, ADeadlineOrACancellationEndsTheBlocks) {
  RaceOptions late = options();
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(race(driver_, stream(), std::vector{contender("a", 1)}, late).failures[0], kNoTimeLeft);
  RaceOptions cancelled = options();
  int asked = 0;
  cancelled.is_cancelled = [&] { return ++asked > 20; };
  const RaceResult result = race(driver_, stream(), std::vector{contender("a", 1), contender("b", 1)}, cancelled);
  EXPECT_EQ(result.failures[1], kNoTimeLeft);
  EXPECT_LT(result.rounds_done, 3);
}

TEST_F(SustainedTest, TellsWhichContenderRuns) {
  RaceOptions told = options();
  std::set<std::size_t> steps;
  told.on_step = [&](std::size_t contender) { steps.insert(contender); };
  race(driver_, stream(), std::vector{contender("a", 1), contender("b", 1)}, told);
  EXPECT_THAT(steps, testing::ElementsAre(0u, 1u)) << "a block has one culprit";
}

}  // namespace
}  // namespace hotgemm::standin
