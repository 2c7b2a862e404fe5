// Faults of a kernel that do not show in its first launch, which is out of place and has alpha 1.

#include "context_impl.hpp"
#include "standin/fake_trials.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/device_measurer.hpp"

namespace hotgemm::standin {
namespace {

class AdmissionTest : public RuntimeTest {
 protected:
  static Workload problem_of(bool beta_is_zero, DType dtype = DType::f16) {
    return {{.m = 40, .n = 72, .k = 100, .types = uniform_types(dtype)},
            {.align_a = 8, .align_b = 8, .align_d = 8, .beta_is_zero = beta_is_zero}};
  }
  /// The verdicts on two kernels, the second of which has the fault.
  std::vector<Verdict> verdicts(const Workload& problem, Corruption corruption) {
    const std::vector<Trial> trials = fake_trials(problem, 2);
    standin().reset();
    make_all_slow();
    standin().corrupt(part_of(trials[1], problem), corruption);
    DeviceMeasurer measurer(impl_of(context(Policy::tune)).current());
    measurer.begin(problem, {.scratch_bytes = 1 << 20});
    const std::size_t before = standin().launches(part_of(trials[0], problem));
    const std::vector<Verdict> found = measurer.check(trials, 7);
    launches_ = standin().launches(part_of(trials[0], problem)) - before;
    measurer.end();
    EXPECT_EQ(found.at(0).reason, "");
    EXPECT_EQ(found.at(1).stage, Stage::check);
    return found;
  }
  static std::string part_of(const Trial& trial, const Problem& problem) {
    return "hotgemm_" + to_string(trial.config) + "_" + std::string(to_string(problem.types.a));
  }

  std::size_t launches_ = 0;  // of the sound kernel
};

TEST_F(AdmissionTest, AKernelThatIsWrongOnlyInPlaceIsRejected) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Verdict found = verdicts(problem_of(false, dtype), Corruption::in_place_wrong).at(1);
    EXPECT_THAT(found.reason, testing::StartsWith("wrong: in place with alpha 2 and beta -2: 1 of 2880 elements"));
  }
}

TEST_F(AdmissionTest, AKernelThatIgnoresAlphaIsRejected) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_THAT(verdicts(problem_of(true, dtype), Corruption::no_alpha).at(1).reason,
                testing::StartsWith("wrong: with alpha 2: "));
    EXPECT_THAT(verdicts(problem_of(false, dtype), Corruption::no_alpha).at(1).reason,
                testing::StartsWith("wrong: in place with alpha 2 and beta -2: "));
  }
}

TEST_F(AdmissionTest, AKernelThatIgnoresBetaIsRejected) {
  EXPECT_THAT(verdicts(problem_of(false), Corruption::no_beta).at(1).reason,
              testing::StartsWith("wrong: in place with alpha 2 and beta -2: "));
}

TEST_F(AdmissionTest, WhatTheFirstLaunchShowsIsSaidOfIt) {
  for (const bool beta_is_zero : {false, true}) {
    EXPECT_THAT(verdicts(problem_of(beta_is_zero), Corruption::wrong).at(1).reason,
                testing::StartsWith("wrong: 1 of 2880 elements"));
    EXPECT_THAT(verdicts(problem_of(beta_is_zero), Corruption::stray).at(1).reason,
                testing::StartsWith("stray write: "));
  }
}

TEST_F(AdmissionTest, TakesTwoLaunches) {
  for (const bool beta_is_zero : {false, true}) {
    EXPECT_EQ(verdicts(problem_of(beta_is_zero), Corruption::none).at(1).reason, "");
    EXPECT_EQ(launches_, 2u);
  }
}

TEST_F(AdmissionTest, TuningPicksAnother) {
  GemmCase c = small_case(8, 16, 8, 1);
  const Workload problem = c.described();
  const auto tune = [&] { return context().tune(std::vector{problem}, quick_tuning(4), true).at(0); };
  const std::string fastest = tune().config;
  standin().corrupt("hotgemm_" + fastest + "_f16", Corruption::in_place_wrong);
  const TuneResult result = tune();
  EXPECT_NE(result.config, fastest);
  ASSERT_EQ(result.rejections.size(), 1u);
  EXPECT_EQ(result.rejections[0].config, fastest);
  EXPECT_THAT(result.rejections[0].reason, testing::HasSubstr("in place"));
  expect_right(context(), c, stream());
}

}  // namespace
}  // namespace hotgemm::standin
