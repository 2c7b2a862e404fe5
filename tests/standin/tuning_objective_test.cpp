#include "standin/fake_measurer.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/tuning_run.hpp"

#include <memory>
#include <optional>

namespace hotgemm::standin {
namespace {

/// Tuning runs of one problem on a fake GPU. Another objective has an engine of its own, as if in another process.
class TuningObjectiveTest : public testing::Test {
 protected:
  void SetUp() override { set_test_environment(); }
  void TearDown() override {
    engine_.reset();
    KernelShelf::add(cache_.path());
  }

  ProblemResult tune(Objective objective, CublasScope cublas = CublasScope::none) {
    ContextOptions options = options_in(cache_.path(), Policy::tune);
    options.objective = objective;
    if (!engine_ || engine_->objective != objective) engine_.emplace(options);
    const auto factory = [this](int gpu) { return std::make_unique<FakeMeasurer>(gpus_, gpu); };
    TuningRunOptions how{.tuning = quick_tuning(4), .cublas = cublas};
    how.tuning.jobs = 1;
    const Workload problem({.m = 64, .n = 64, .k = 64, .types = kF32});
    return TuningRun(*engine_, factory, how).run({&problem, 1}).results.at(0);
  }

  FakeGpus gpus_;
  ScratchDirectory cache_;
  std::optional<Engine> engine_;
};

TEST_F(TuningObjectiveTest, EachObjectiveHasItsRecord) {
  EXPECT_EQ(tune(Objective::speed).status, TuneStatus::tuned);
  gpus_.reports_power = true;
  const ProblemResult result = tune(Objective::energy);
  ASSERT_EQ(result.status, TuneStatus::tuned) << result.failure;
  EXPECT_NEAR(result.record->joules, 500 * result.record->timing.median_us * 1e-6, 1e-9);
  for (const Objective objective : {Objective::speed, Objective::energy}) {
    const ProblemResult recorded = tune(objective);
    EXPECT_EQ(recorded.status, TuneStatus::recorded);
    EXPECT_EQ(recorded.record->objective, objective);
  }
}

TEST_F(TuningObjectiveTest, WithoutThePowerThereIsNoTuningForEnergy) {
  expect_thrown(ErrorCode::io_error, {"cannot tune for energy on GPU 0", "NVML"}, [&] { tune(Objective::energy); });
}

TEST_F(TuningObjectiveTest, ARecordWithoutTheComparisonThatIsAskedForIsNoAnswer) {
  EXPECT_EQ(tune(Objective::speed).status, TuneStatus::tuned);
  EXPECT_EQ(tune(Objective::speed, CublasScope::all).status, TuneStatus::tuned);
  const ProblemResult result = tune(Objective::speed, CublasScope::all);
  EXPECT_EQ(result.status, TuneStatus::recorded);
  EXPECT_EQ(result.record->cublas.version, "13.1.0");
  EXPECT_EQ(tune(Objective::speed).status, TuneStatus::recorded) << "more than asked for";
}

TEST_F(TuningObjectiveTest, AComparisonWithTheDefaultKeepsThePick) {
  const TuningRecord before = tune(Objective::speed).record.value();
  gpus_.speed = [&](const Trial& trial) { return trial.config == before.config ? 200.0 : 100.0; };
  for (int repeat = 0; repeat < 2; ++repeat) {
    const ProblemResult result = tune(Objective::speed, CublasScope::default_only);
    EXPECT_EQ(result.status, TuneStatus::recorded) << result.failure;
    EXPECT_EQ(result.measured, 0);
    TuningRecord expected = before;
    expected.cublas = {.version = "13.1.0", .default_ratio = 1.25};
    EXPECT_EQ(result.record, expected);
  }
  EXPECT_EQ(gpus_.begun().size(), 2u) << "tuned once, compared once";
}

TEST_F(TuningObjectiveTest, AComparisonWithTheDefaultIsLessThanOneWithAll) {
  tune(Objective::speed);
  EXPECT_EQ(tune(Objective::speed, CublasScope::default_only).status, TuneStatus::recorded);
  const ProblemResult result = tune(Objective::speed, CublasScope::all);
  EXPECT_EQ(result.status, TuneStatus::tuned);
  EXPECT_EQ(result.record->cublas.ratio, 1);
}

TEST_F(TuningObjectiveTest, ARecordedPickThatIsWrongIsAFailure) {
  tune(Objective::speed);
  gpus_.verdict = [](const Trial&) { return "wrong: an element of D"; };
  const ProblemResult result = tune(Objective::speed, CublasScope::default_only);
  EXPECT_EQ(result.status, TuneStatus::failed);
  EXPECT_EQ(result.failure_code, ErrorCode::wrong_result);
  EXPECT_FALSE(result.record);
}

TEST_F(TuningObjectiveTest, AProblemWithoutARecordIsTunedAndComparedWithTheDefault) {
  const ProblemResult result = tune(Objective::speed, CublasScope::default_only);
  EXPECT_EQ(result.status, TuneStatus::tuned);
  EXPECT_EQ(result.record->cublas.default_ratio, 1.25);
  EXPECT_EQ(result.record->cublas.ratio, 0);
}

}  // namespace
}  // namespace hotgemm::standin
