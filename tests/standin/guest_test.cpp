// Tuning must not harm the process that it runs in.

#include "standin/guest_fixture.hpp"
#include "standin/guest_process.hpp"

#include <chrono>
#include <limits>
#include <thread>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;

class GuestTest : public GuestFixture {
 protected:
  GuestArguments guest_arguments() const {
    return {.cache = cache_.path(), .problem = to_string(problem()), .candidates = kCandidates};
  }
  /// The guest must live, tune, and pick another kernel than `bad`.
  void expect_good_guest(const KernelConfig& bad) {
    GuestProcess guest(guest_arguments());
    const std::string line = guest.origin_and_config();
    EXPECT_THAT(line, testing::StartsWith("tuned "));
    EXPECT_THAT(line, testing::Not(testing::HasSubstr(to_string(bad))));
    EXPECT_EQ(guest.wait(), 0);
  }
};

// ---- with a worker ----

TEST_F(GuestTest, AWorkerDiesInPlaceOfTheHost) {
  for (const std::string fate : {"fault", "crash", "hang", "wrong", "fault@4"}) {
    SCOPED_TRACE(fate);
    for (const char* kind : {"db", "rejected", "vetted"}) std::filesystem::remove_all(cache_.path() / "v1" / kind);
    standin().reset();
    make_all_slow();
    const KernelConfig bad = measured_configs().at(1);
    plant(bad, fate);
    context_.emplace(with_worker());
    const Plan plan = context().plan(problem());
    EXPECT_EQ(plan.origin(), Origin::tuned);
    EXPECT_NE(plan.config(), to_string(bad));
    EXPECT_EQ(standin().launches(symbol_part(bad)), 0u) << "it ran in this process";
    EXPECT_EQ(standin().launches(), 0u) << "something was measured in this process";
    expect_right(context(), small_case(), stream());
    const char* reason = fate == "hang" ? "hung: " : fate == "wrong" ? "wrong: " : "faulted: ";
    EXPECT_THAT(remembered(bad), testing::StartsWith(reason));
    forget_context();
    ::unsetenv("HOTGEMM_STANDIN_SCRIPT");
    // The next process has no worker: it measures what this one has vetted.
    const TuneResult result = context().tune(std::vector{problem()}, quick_tuning(kCandidates), true).at(0);
    EXPECT_EQ(result.failure, "");
    EXPECT_GE(result.measured, 4);
    EXPECT_NE(result.config, to_string(bad));
    EXPECT_EQ(standin().launches(symbol_part(bad)), 0u);
    forget_context();
  }
}

TEST_F(GuestTest, ATuningThatUsesItsWholeBudgetLeavesARecord) {
  measured_configs();
  // A round takes a few milliseconds, a check more than 40, so the last check, of the pick, ends after the budget.
  ::setenv("HOTGEMM_STANDIN_SCRIPT", "hotgemm_=speed:50;hotgemm_digest=slow:20000", 1);
  ContextOptions how = with_worker();
  how.tuning.budget_s = 1.5 * kSanitizerFactor;
  how.tuning.rounds = 20'000;  // take longer than the budget
  context_.emplace(how);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_THAT(warnings_.take(), testing::IsEmpty());
  EXPECT_GE(took.count(), how.tuning.budget_s) << "there was time left";
  EXPECT_EQ(standin().launches(), 0u) << "something was measured in this process";
  ASSERT_EQ(records().size(), 1u);
  EXPECT_TRUE(records().at(0).record.is_provisional);
}

/// So say a context when it is made, the default one when it is configured, and Context::tune.
TEST_F(GuestTest, OptionsForTuningMustHaveAMeaning) {
  const auto refused = [&](const std::string& name, auto change) {
    TuneOptions how = quick_tuning(2);
    change(how);
    expect_thrown(ErrorCode::invalid_argument, {name + " is "}, [&] { context().tune(std::vector{problem()}, how); });
    ContextOptions options;
    options.tuning = how;
    expect_thrown(ErrorCode::invalid_argument, {name + " is "}, [&] { const Context made(options); });
    expect_thrown(ErrorCode::invalid_argument, {name + " is "}, [&] { Context::configure_default(options); });
  };
  refused("budget_s", [](TuneOptions& o) { o.budget_s = -1; });
  refused("budget_s", [](TuneOptions& o) { o.budget_s = std::numeric_limits<double>::quiet_NaN(); });
  refused("max_candidates", [](TuneOptions& o) { o.max_candidates = 0; });
  refused("scratch_bytes", [](TuneOptions& o) { o.scratch_bytes = -1; });
  refused("scratch_share", [](TuneOptions& o) { o.scratch_share = 9; });
  refused("jobs", [](TuneOptions& o) { o.jobs = -1; });
  refused("rounds", [](TuneOptions& o) { o.rounds = 0; });
  TuneOptions endless = quick_tuning(2);
  endless.budget_s = std::numeric_limits<double>::infinity();
  EXPECT_EQ(context().tune(std::vector{problem()}, endless).at(0).failure, "");
}

TEST_F(GuestTest, WithoutARoomForAWorkerThisProcessMeasures) {
  measured_configs();
  plant(measured_configs().at(0), "crash");  // a worker would show it
  standin().set_memory_limit(std::size_t{600} << 20);
  context_.emplace(with_worker());
  EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
  EXPECT_GT(standin().launches(), 0u);
}

TEST_F(GuestTest, AWorkerThatRefusesLeavesOnlyVettedKernelsToThisProcess) {
  const std::vector<KernelConfig> configs = measured_configs();
  ASSERT_GE(configs.size(), 6u);
  ::setenv("HOTGEMM_STANDIN_SCRIPT", "mps=1;hotgemm_=speed:1000", 1);  // for the worker
  context_.emplace(with_worker());
  EXPECT_EQ(context().plan(problem()).origin(), Origin::estimated);
  EXPECT_THAT(warnings_.take(), testing::Contains(testing::HasSubstr("beside other MPS clients")));
  EXPECT_EQ(standin().launches(), 0u) << "a fault would end other processes";
  context_.emplace(with_worker());
  vet({configs.begin() + 1, configs.begin() + 5});
  EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
  EXPECT_GT(standin().launches(), 0u);
  EXPECT_EQ(standin().launches(symbol_part(configs[5])), 0u);
}

TEST_F(GuestTest, ARelativeWorkerIsTheOneThatWasFound) {
  measured_configs();
  ::setenv("HOTGEMM_STANDIN_SCRIPT", "hotgemm_=speed:1000", 1);
  ContextOptions how = with_worker();
  const std::filesystem::path here = std::filesystem::current_path();
  how.worker = std::filesystem::relative(HOTGEMM_COMMAND).string();
  context_.emplace(how);
  std::filesystem::current_path(cache_.path());
  EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
  std::filesystem::current_path(here);
  EXPECT_EQ(standin().launches(), 0u) << "something was measured in this process";
}

TEST_F(GuestTest, AWorkerThatCannotRunIsReported) {
  ContextOptions how = with_worker();
  how.worker = "/no/such/hotgemm";
  context_.emplace(how);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("there is no /no/such/hotgemm")));
  how.worker = "/proc/self/exe";
  context_.emplace(how);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("is the program of this process")));
  EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
}

// ---- without a worker ----

TEST_F(GuestTest, AProcessThatAKernelEndedIsTheLast) {
  for (const std::string fate : {"crash", "crash@12", "fault"}) {
    SCOPED_TRACE(fate);
    for (const char* kind : {"db", "rejected", "vetted"}) std::filesystem::remove_all(cache_.path() / "v1" / kind);
    const KernelConfig bad = measured_configs().at(1);
    plant(bad, fate);
    GuestProcess first(guest_arguments());
    EXPECT_EQ(first.origin_and_config(), "");
    EXPECT_NE(first.wait(), 0);
    expect_good_guest(bad);
    EXPECT_EQ(attempt_marks(cache_.path()), "");
  }
}

TEST_F(GuestTest, AProcessThatAKernelStoppedIsTheLast) {
  const KernelConfig bad = measured_configs().at(1);
  plant(bad, "hang");
  GuestProcess first(guest_arguments());
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  while (attempt_marks(cache_.path()).find(to_string(bad)) == std::string::npos &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_THAT(attempt_marks(cache_.path()), testing::HasSubstr("ended its process: "));
  first.kill();
  first.wait();
  expect_good_guest(bad);
  EXPECT_THAT(remembered(bad), testing::StartsWith("ended its process: "));
}

TEST_F(GuestTest, OnlyVettedKernelsRunIfThereAreEnough) {
  const std::vector<KernelConfig> configs = measured_configs();
  ASSERT_GE(configs.size(), 6u);
  vet({configs.begin() + 1, configs.begin() + 5});
  const TuneResult result = context().tune(std::vector{problem()}, quick_tuning(kCandidates)).at(0);
  EXPECT_EQ(result.measured, 5) << "the estimate's kernel and the vetted ones";
  EXPECT_THAT(result.rejections, testing::Not(testing::IsEmpty()));
  for (const Rejection& r : result.rejections) EXPECT_THAT(r.reason, testing::StartsWith("not vetted: "));
  EXPECT_EQ(standin().launches(symbol_part(configs[5])), 0u);
}

TEST_F(GuestTest, WhatCannotBeMarkedDoesNotRun) {
  measured_configs();
  ::setenv("HOTGEMM_CACHE", "ro", 1);
  context_.emplace(options(Policy::tune, kCandidates));
  EXPECT_EQ(context().plan(problem()).origin(), Origin::estimated);
  EXPECT_EQ(standin().launches("hotgemm_simt"), 0u);
  EXPECT_THAT(warnings_.take(), testing::Contains(testing::HasSubstr("not vetted: ")));
  ::unsetenv("HOTGEMM_CACHE");
}

}  // namespace
}  // namespace hotgemm::standin
