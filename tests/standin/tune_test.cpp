#include "context_impl.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/tune.hpp"

#include <algorithm>
#include <cstdio>

namespace hotgemm::standin {
namespace {

/// Tuning of one problem whose candidates are known beforehand, so that the test can give each a behaviour.
class TuneTest : public RuntimeTest {
 protected:
  static constexpr int kCandidates = 8;

  Workload problem() const { return small_case().described(); }
  /// The candidates that are measured, in the order in which they are checked.
  std::vector<std::string> candidates(int count = kCandidates) {
    DeviceState& device = impl_of(context()).current();
    Engine& engine = impl_of(context()).engine();
    std::vector<Candidate> rows = tuning_candidates(device, problem(), count);
    build_candidates(rows, problem(), device.environment(), engine, 1);
    merge_twins(rows, problem());
    std::vector<std::string> names;
    for (const Candidate& c : rows) {
      if (c.is_alive()) names.push_back(to_string(c.config));
    }
    return names;
  }
  static std::string symbol_part(const std::string& config) { return "hotgemm_" + config + "_f16"; }
  TuneResult tune(const TuneOptions& options = quick_tuning(kCandidates), bool retune = false) {
    return context().tune(std::vector{problem()}, options, retune).at(0);
  }
  /// Forgets everything but kernels: candidates depend on records, and in this process on what is vetted.
  void forget_records() {
    forget_context();
    for (const char* kind : {"db", "rejected", "vetted"}) std::filesystem::remove_all(cache_.path() / "v1" / kind);
  }
  /// The output of `hotgemm db show` for the cache of the test.
  std::string shown_records() const {
    const std::string command = std::string(HOTGEMM_COMMAND) + " db show --cache-dir " + cache_.path().string();
    std::string text;
    std::FILE* output = ::popen(command.c_str(), "r");
    if (output == nullptr) return text;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(output), 0);
    return text;
  }
  /// Returns the only rejection and checks that it is of `config`.
  Rejection rejection(const TuneResult& result, const std::string& config) {
    EXPECT_EQ(result.rejections.size(), 1u);
    if (result.rejections.empty()) return {};
    EXPECT_EQ(result.rejections[0].config, config);
    return result.rejections[0];
  }
};

TEST_F(TuneTest, TheFastestWins) {
  const std::vector<std::string> names = candidates();
  ASSERT_GE(names.size(), 4u);
  for (std::size_t fastest = 0; fastest < names.size(); ++fastest) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      standin().set_speed(symbol_part(names[i]), i == fastest ? 900 : 1100 + 10 * static_cast<double>(i));
    }
    forget_records();
    const TuneResult result = tune();
    EXPECT_EQ(result.config, names[fastest]);
    EXPECT_NEAR(result.median_us, 900, 1e-3);
    EXPECT_GE(result.measured, std::ssize(names));
    EXPECT_FALSE(result.was_recorded);
    EXPECT_NEAR(result.tflops, 2.0 * 8 * 16 * 8 / 900 * 1e-6, 1e-12);
    EXPECT_THAT(result.rejections, testing::IsEmpty());
    EXPECT_EQ(result.failure, "");
  }
}

TEST_F(TuneTest, ASearchThatWasCutShortIsFinished) {
  tune();
  EXPECT_TRUE(tune().was_recorded);
  TuningRecord record = records().at(0).record;
  record.is_provisional = true;
  const int rounds = quick_tuning(kCandidates).rounds;
  for (const int samples : {rounds, rounds - 1, 0}) {
    forget_context();
    std::filesystem::remove_all(cache_.path() / "v1" / "db");
    record.timing.samples = samples;
    impl_of(context()).engine().database.add(record);
    EXPECT_EQ(tune().was_recorded, samples == rounds) << samples << ": blocks are for a tuning run";
    EXPECT_EQ(records().back().record.is_provisional, samples == rounds);
  }
}

TEST_F(TuneTest, ADisturbedSearchIsFinished) {
  tune();
  TuningRecord record = records().at(0).record;
  record.is_provisional = true;
  record.cause = ProvisionalCause::disturbed;
  forget_context();
  std::filesystem::remove_all(cache_.path() / "v1" / "db");
  impl_of(context()).engine().database.add(record);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose builds have no `hotgemm db`
  EXPECT_THAT(shown_records(), testing::HasSubstr("; provisional: disturbed"));
#endif
  EXPECT_FALSE(tune().was_recorded);
  EXPECT_FALSE(records().back().record.is_provisional);
  EXPECT_TRUE(tune().was_recorded);
}

TEST_F(TuneTest, AProgrammaticLaunchMustBeFasterBehindAnotherKernel) {
  constexpr int kMany = 24;  // of which some are of wgmma
  const std::vector<std::string> names = candidates(kMany);
  const auto found = std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("wgmma"); });
  ASSERT_NE(found, names.end()) << testing::PrintToString(names);
  make_all_slow();
  standin().set_speed(symbol_part(*found), 500);
  standin().set_programmatic_speed(symbol_part(*found), 400, 550);
  TuneResult result = tune(quick_tuning(kMany), true);
  EXPECT_EQ(result.config, *found);
  EXPECT_FALSE(parse_launch(result.launch)->programmatic) << "it is faster only behind itself";
  EXPECT_NEAR(result.median_us, 500, 1e-2);
  standin().set_programmatic_speed(symbol_part(*found), 400, 450);
  result = tune(quick_tuning(kMany), true);
  EXPECT_TRUE(parse_launch(result.launch)->programmatic) << result.launch;
  EXPECT_NEAR(result.median_us, 450, 1e-2);
}

TEST_F(TuneTest, IdenticalMachineCodeIsTimedOnce) {
  // Two configs of a kernel so small that the limit on its registers changes nothing, and one config with another tile.
  std::vector<Candidate> rows;
  for (const char* name : {"mma_m32_n16_k32_wm2_wn1_s2_x1_f2_e1_b2", "mma_m32_n16_k32_wm2_wn1_s2_x1_f2_e1_b1",
                           "mma_m16_n32_k32_wm1_wn1_s2_x1_f2_e1_b1"}) {
    rows.push_back({.config = *parse_config(name)});
  }
  build_candidates(rows, problem(), impl_of(context()).current().environment(), impl_of(context()).engine(), 1);
  merge_twins(rows, problem());
  EXPECT_EQ(rows[0].same_as, to_string(rows[1].config));
  EXPECT_TRUE(rows[1].is_alive());
  EXPECT_TRUE(rows[2].is_alive());
}

TEST_F(TuneTest, WrongIsNeverFast) {
  for (const Corruption corruption : {Corruption::nothing, Corruption::wrong, Corruption::nan}) {
    standin().reset();
    make_all_slow();
    forget_records();
    const std::vector<std::string> names = candidates();
    const std::string wrong = names[2];
    standin().set_speed(symbol_part(wrong), 300);
    standin().corrupt(symbol_part(wrong), corruption);
    const TuneResult result = tune(quick_tuning(kCandidates), true);
    EXPECT_NE(result.config, wrong);
    EXPECT_NE(result.config, "");
    EXPECT_EQ(result.measured, std::ssize(names) - 1);
    const Rejection row = rejection(result, wrong);
    EXPECT_EQ(row.stage, "check");
    EXPECT_THAT(row.reason, testing::HasSubstr("of 128 elements are wrong"));
  }
  expect_right(context(), small_case(), stream());
}

TEST_F(TuneTest, ACandidateThatFailsIsARow) {
  const struct {
    const char* function;
    int call;
    std::size_t candidate;
    const char* stage;
  } kPlanted[] = {
      {"cuModuleLoadData", 3, 1, "load"},  // after the check kernels and the first candidate
      {"cuLaunchKernel", 3, 0, "check"},   // after the fills of A and B
      {"cuEventRecord", 1, 0, "measure"},
  };
  for (const auto& planted : kPlanted) {
    SCOPED_TRACE(planted.function);
    forget_records();
    standin().reset();
    make_all_slow();
    const std::string expected = candidates()[planted.candidate];
    standin().fail(planted.function, planted.call, CUDA_ERROR_INVALID_VALUE);
    const TuneResult result = tune(quick_tuning(kCandidates), true);
    const Rejection row = rejection(result, expected);
    EXPECT_EQ(row.stage, planted.stage);
    EXPECT_THAT(row.reason, testing::HasSubstr("CUDA_ERROR_INVALID_VALUE (1)"));
    EXPECT_NE(result.config, "");
    EXPECT_NE(result.config, expected);
  }
}

TEST_F(TuneTest, WhereAllAreWrongThereIsNoPick) {
  standin().corrupt("hotgemm_", Corruption::wrong);
  const TuneResult result = tune();
  EXPECT_EQ(result.config, "");
  for (const std::string& name : candidates()) EXPECT_THAT(result.failure, testing::HasSubstr(name + ": check"));
  EXPECT_THAT(records(), testing::IsEmpty());
}

TEST_F(TuneTest, WhereAllAreWrongGemmEstimatesAndSaysSo) {
  const GemmCase c = small_case();
  standin().corrupt("hotgemm_", Corruption::nothing);
  expect_right(c, stream(), [&](const Operands& operands) {
    const Plan plan = context().plan(c.described());
    EXPECT_EQ(plan.origin(), Origin::estimated);
    standin().corrupt("hotgemm_", Corruption::none);
    context().gemm(stream(), c.problem, operands);
  });
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::AllOf(testing::HasSubstr("the model decides"),
                                                                    testing::HasSubstr("8 16 8"))));
  EXPECT_THAT(records(), testing::IsEmpty());
  EXPECT_EQ(context().stats().estimated, 1u);
}

TEST_F(TuneTest, ARecordAnswersUnlessRetuned) {
  const TuneResult first = tune();
  const std::size_t launches = standin().launches();
  const TuneResult second = tune();
  EXPECT_TRUE(second.was_recorded);
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(second.config, first.config);
  EXPECT_EQ(second.launch, first.launch);
  EXPECT_EQ(second.median_us, first.median_us);
  EXPECT_EQ(standin().launches(), launches);
  EXPECT_FALSE(tune(quick_tuning(kCandidates), true).was_recorded);
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(TuneTest, TheLargestProblemOfTheClassIsMeasured) {
  const TuneResult result = context().tune(std::vector{Workload({.m = 5, .n = 16, .k = 8})}, quick_tuning(1)).at(0);
  EXPECT_EQ(records().at(0).record.problem.m, 8);
  EXPECT_NEAR(result.tflops * result.median_us, 2e-6 * 8 * 16 * 8, 1e-12) << "of what was measured";
}

TEST_F(TuneTest, FailuresAreResultsAndProgressMayStop) {
  const std::vector<Workload> problems = {Workload({.m = -1, .n = 8, .k = 8}), Workload({.m = 8, .n = 8, .k = 0}),
                                          problem(), problem()};
  int seen = 0;
  const auto results = context().tune(problems, quick_tuning(1), false, [&](const TuneResult&) { return ++seen < 3; });
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[0].failure, testing::HasSubstr("m is negative"));
  EXPECT_THAT(results[1].failure, testing::HasSubstr("nothing to tune"));
  EXPECT_EQ(results[2].failure, "");
}

TEST_F(TuneTest, TunesWhateverThePolicy) {
  EXPECT_NE(context(Policy::cached_only).tune(std::vector{problem()}, quick_tuning(1)).at(0).config, "");
  expect_right(context(), small_case(), stream());
  EXPECT_EQ(context().stats().recorded, 1u);
}

TEST_F(TuneTest, IsDoneByItsBudget) {
  TuneOptions hurried = quick_tuning(2);
  hurried.budget_s = 0;
  const TuneResult result = tune(hurried);
  EXPECT_EQ(result.config, "");
  EXPECT_THAT(result.failure, testing::HasSubstr("no time was left"));
  EXPECT_THAT(records(), testing::IsEmpty());
}

TEST_F(TuneTest, IsTheSameTwice) {
  const TuneResult first = tune();
  forget_records();
  const TuneResult second = tune();
  EXPECT_EQ(first.config, second.config);
  EXPECT_EQ(first.launch, second.launch);
}

TEST_F(TuneTest, OperandsBeyondAllMemoryAreAFailure) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const bool beta_is_zero : {true, false}) {
      Workload huge{Problem{.m = 2147482623, .n = 2147482623, .k = 2147482623, .types = uniform_types(dtype)}};
      huge.hints = {.align_a = 4, .align_b = 4, .align_d = 4, .beta_is_zero = beta_is_zero};
      const TuneResult result = context().tune(std::vector{huge}, quick_tuning(1)).at(0);
      EXPECT_THAT(result.failure, testing::HasSubstr("scratch"));
    }
  }
}

}  // namespace
}  // namespace hotgemm::standin
