// The work of a tuning beside a program: fewer candidates, no race of rasters, one final race.

#include "standin/fake_compiler.hpp"
#include "standin/search_fixture.hpp"

#include "gpu/code_digest.hpp"
#include "plan/model.hpp"
#include "tune/tune.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace hotgemm::standin {
namespace {

class BesideWorkTest : public RuntimeTest {
 protected:
  BesideWorkTest() { has_real_kernels_ = false; }

  void SetUp() override {
    RuntimeTest::SetUp();
    compile_fakes(context(Policy::background), [] {});
    gpu_.us = [this](const Trial& t) {
      raced_.push_back(t);
      return time_of(t);
    };
  }
  DeviceState& device() { return impl_of(context()).current(); }
  static double time_of(const Trial& t) {
    const double by_config = static_cast<double>(std::hash<std::string>{}(to_string(t.config)) % 20);
    return 2000 + 40 * by_config - (t.launch.programmatic ? 200 : 0);
  }
  TuneOutcome tune(const Workload& problem, bool only_vetted = false) {
    return tune_beside_work(device(), problem, TuneOptions{}, gpu_, {.only_vetted = only_vetted, .is_cancelled = {}});
  }
  std::vector<Candidate> built_candidates(const Workload& problem) {
    std::vector<Candidate> candidates = tuning_candidates(device(), problem, TuneOptions{}.max_candidates);
    build_candidates(candidates, problem, device().environment(), device().engine(), 1);
    return candidates;
  }
  /// As a call tunes, but without its deadline.
  TuneOutcome tune_fully(const Workload& problem) {
    std::vector<Candidate> candidates = built_candidates(problem);
    SearchOptions options = search_options({});
    options.budget_s = 100;
    return search(device().engine(), gpu_, problem, std::move(candidates), options);
  }
  SimulatedGpu gpu_;
  std::vector<Trial> raced_;
};

TEST_F(BesideWorkTest, MeasuresASixthOfWhatACallMeasures) {
  const Workload problem = parse_workload("2048 2048 512 nt f16");
  tune(problem);
  const std::size_t beside = gpu_.batches, checks = gpu_.checked.size();
  EXPECT_EQ(checks, 11u) << "ten candidates, and the pick again";
  gpu_.batches = 0;
  gpu_.checked.clear();
  tune_fully(problem);
  std::printf("%zu batches and %zu checks, instead of %zu and %zu\n", beside, checks, gpu_.batches,
              gpu_.checked.size());
  EXPECT_LE(6 * beside, gpu_.batches);
  EXPECT_LT(checks, gpu_.checked.size());
}

TEST_F(BesideWorkTest, OtherWorkIsDoneWhileItCompiles) {
  int times = 0;
  TuneOptions options;
  options.jobs = 2;
  tune_beside_work(device(), parse_workload("2048 2048 512 nt f16"), options, gpu_,
                   {.only_vetted = false, .is_cancelled = {}, .meanwhile = [&] {
                      EXPECT_THAT(raced_, testing::IsEmpty());
                      ++times;
                    }});
  EXPECT_EQ(times, 5) << "ten candidates, two at a time";
}

TEST_F(BesideWorkTest, TriesTheUsualRasterAndAProgrammaticLaunchInIt) {
  // The second problem has one row of tiles, so that its kernels have one raster.
  for (const char* text : {"1024 1024 512 nt f16", "8 4096 512 nt f16"}) {
    SCOPED_TRACE(text);
    raced_.clear();
    const Workload problem = parse_workload(text);
    const TuneOutcome outcome = tune(problem);
    LaunchConfig usual = default_launch(outcome.record->config, problem, device().info());
    EXPECT_FALSE(usual.programmatic);
    usual.programmatic = true;
    EXPECT_EQ(outcome.record->launch, usual);
    EXPECT_EQ(outcome.record->measure, Measure::behind);
    EXPECT_FALSE(outcome.record->is_provisional);
    for (const Trial& t : raced_) {
      LaunchConfig own = default_launch(t.config, problem, device().info());
      own.programmatic = t.launch.programmatic;
      EXPECT_EQ(t.launch, own) << to_string(t.config);
    }
  }
}

TEST_F(BesideWorkTest, InThisProcessTheVettedAreFoundAmongAll) {
  const Workload problem = parse_workload("2048 2048 512 nt f16");
  const std::vector<Candidate> rows = built_candidates(problem);
  const Environment where = device().environment();
  const auto vet = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      device().engine().vetted.add({kernel_digest(*rows[i].cubin), where.gpu, where.driver});
    }
  };
  vet(12, 17);
  tune(problem, true);
  EXPECT_EQ(gpu_.checked.size(), 7u) << "the estimate's, five others, and the pick again";
  gpu_.checked.clear();
  vet(1, 20);
  tune(problem, true);
  EXPECT_EQ(gpu_.checked.size(), 11u) << "ten of twenty, and the pick again";
}

TEST_F(BesideWorkTest, ADisturbedFinalIsNoticed) {
  gpu_.other_work = [](std::size_t, int round) { return round % 2 == 1; };
  EXPECT_EQ(tune(parse_workload("2048 2048 512 nt f16")).record->cause, ProvisionalCause::disturbed);
}

}  // namespace
}  // namespace hotgemm::standin
