// Calls that run what is ready, or decline.

#include "standin/c_api_fixture.hpp"

#include "context_impl.hpp"
#include "runtime/plan_impl.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hotgemm::standin {
namespace {

using testing::HasSubstr;

using DeclineTest = CApiTest;

TEST_F(DeclineTest, ACallThatMayOnlyUseAPlanDeclinesWithoutOne) {
  make();
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_PREPARED);
  EXPECT_EQ(stats().plans, 0u);
  EXPECT_EQ(stats().compiled, 0u);
  EXPECT_EQ(stats().declined, 1u);
  EXPECT_EQ(standin().launches("hotgemm_"), 0u);
  expect_call(HOTGEMM_SUCCESS);
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_PREPARED);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_TUNED);
  EXPECT_THAT(last_error(), HasSubstr("declined"));
}

TEST_F(DeclineTest, ADeclinedCallCountsForTheBackground) {
  make();
  expect_call(HOTGEMM_SUCCESS);
  auto& device = impl_of(*c_context_->context).current();
  const std::vector<ClassKey> keys = device.plans().keys();
  ASSERT_EQ(keys.size(), 1u);
  const std::shared_ptr<const PlanImpl> plan = device.plans().get(keys.front())->plan;
  plan->count_uses(true);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_TUNED);
  EXPECT_EQ(plan->uses(), 1u);
  expect_call(HOTGEMM_SUCCESS);
  EXPECT_EQ(plan->uses(), 2u);
}

TEST_F(DeclineTest, AnEmptyProductIsDoneWithoutAPlan) {
  make();
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_PREPARED, small_case(0));
}

TEST_F(DeclineTest, AMeasuredOrPinnedPlanCountsAsTuned) {
  make();
  const hotgemm_problem problem = c_problem();
  const char* const text = "8 16 8 nn f16";
  ASSERT_EQ(tune(text), HOTGEMM_SUCCESS) << last_error();
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_TUNED);
  expect_call(HOTGEMM_SUCCESS);
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_TUNED);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_AS_FAST);

  const hotgemm_problem other = c_problem(8, 32, 8);
  hotgemm_plan* plan = nullptr;
  ASSERT_EQ(hotgemm_plan_create(c_context_, &problem, nullptr, HOTGEMM_ESTIMATE, stream(), nullptr, &plan), 0);
  const std::string config = text_of([&](auto... out) { return hotgemm_plan_config(plan, out...); });
  hotgemm_plan_destroy(plan);
  ASSERT_EQ(hotgemm_pin(c_context_, &other, nullptr, config.c_str(), nullptr, nullptr), HOTGEMM_SUCCESS)
      << last_error();
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_TUNED, small_case(8, 32, 8));
}

TEST_F(DeclineTest, APlanCountsAsTunedWhenItsKernelHasBeenMeasured) {
  make();
  expect_call(HOTGEMM_SUCCESS);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_TUNED);
  const char* const text = "8 16 8 nn f16";
  ASSERT_EQ(tune(text), HOTGEMM_SUCCESS) << last_error();
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_TUNED);
}

TEST_F(DeclineTest, ReloadingTellsAPlanThatItsKernelIsAsFast) {
  make();
  const Choice best = choices(small_case()).front();
  expect_call(HOTGEMM_SUCCESS);
  {
    Context other(options(Policy::estimate));
    TuningRecord record = record_of(other, small_case(), best);
    record.cublas = {.version = "13.1.0", .algorithm = "", .ratio = 1.1, .default_ratio = 1.1};
    impl_of(other).engine().database.add(record);
  }
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_AS_FAST);
  std::size_t outdated = 7;
  ASSERT_EQ(hotgemm_reload(c_context_, &outdated), HOTGEMM_SUCCESS);
  EXPECT_EQ(outdated, 0u) << "the kernel is the same";
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_AS_FAST);
}

TEST_F(DeclineTest, TuningLetsAClassBePreparedThatWasInVain) {
  make();
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_TUNED | HOTGEMM_PREPARE_LATER);
  wait();
  const char* const text = "8 16 8 nn f16";
  ASSERT_EQ(tune(text), HOTGEMM_SUCCESS) << last_error();
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_TUNED | HOTGEMM_PREPARE_LATER);
  wait();
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_TUNED);
}

TEST_F(DeclineTest, ARecordWithCublasBesideItDecidesWhetherItIsAsFast) {
  make();
  const GemmCase c = small_case();
  const hotgemm_problem problem = c_problem();
  for (const double ratio : {0.985, 0.995, 1.1}) {
    TuningRecord record = record_of(*c_context_->context, c, choices(c).front());
    record.cublas = {.version = "13.1.0", .algorithm = "", .ratio = ratio, .default_ratio = ratio};
    impl_of(*c_context_->context).engine().database.add(record);
    ASSERT_EQ(hotgemm_forget(c_context_, &problem, nullptr, 0), HOTGEMM_SUCCESS);
    expect_call(HOTGEMM_SUCCESS);
    expect_call(ratio > 0.99 ? HOTGEMM_SUCCESS : HOTGEMM_NOT_PREPARED, HOTGEMM_IF_AS_FAST);
  }
}

TEST_F(DeclineTest, AClassThatIsDeclinedIsPreparedOnRequest) {
  make();
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_PREPARED | HOTGEMM_PREPARE_LATER);
  wait();
  EXPECT_EQ(stats().plans, 1u);
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_PREPARED);
}

std::set<std::string> threads_of_process() {
  std::set<std::string> threads;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(thread.path().filename().string());
  }
  return threads;
}

/// The signals that a thread of the process blocks; nullopt if it has ended.
std::optional<std::uint64_t> blocked_signals_of(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return std::nullopt;
}

TEST_F(DeclineTest, TheThreadThatPreparesTakesNoSignalOfTheProgram) {
  std::thread([] {}).join();  // ThreadSanitizer starts a thread with it, which blocks all signals
  const std::set<std::string> others = threads_of_process();
  make();
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_PREPARED | HOTGEMM_PREPARE_LATER);
  wait();  // a thread that begins blocks all for a moment
  int looked_at = 0;
  for (const std::string& thread : threads_of_process()) {
    if (others.contains(thread)) continue;
    const std::optional<std::uint64_t> mask = blocked_signals_of(thread);
    if (!mask) continue;
    ++looked_at;
    EXPECT_NE(*mask >> (SIGTERM - 1) & 1, 0u);
    EXPECT_EQ(*mask >> (SIGSEGV - 1) & 1, 0u) << "a fault is the thread's own";
  }
  EXPECT_GT(looked_at, 0);
}

TEST_F(DeclineTest, AKernelThatNoCallMayRunIsNotLoaded) {
  make();
  for (const std::uint32_t demand : {HOTGEMM_IF_TUNED, HOTGEMM_IF_AS_FAST}) {
    expect_call(HOTGEMM_NOT_PREPARED, demand | HOTGEMM_PREPARE_LATER);
    wait();
  }
  EXPECT_EQ(stats().plans, 0u);
  EXPECT_EQ(stats().compiled, 0u);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_PREPARED | HOTGEMM_PREPARE_LATER);
  wait();
  EXPECT_EQ(stats().plans, 1u) << "other demands are another question";
}

TEST_F(DeclineTest, AKernelThatIsAsFastByRecordIsLoaded) {
  make();
  TuningRecord record = record_of(*c_context_->context, small_case(), choices(small_case()).front());
  record.cublas = {.version = "13.1.0", .algorithm = "", .ratio = 1.1, .default_ratio = 1.1};
  impl_of(*c_context_->context).engine().database.add(record);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_AS_FAST | HOTGEMM_PREPARE_LATER);
  wait();
  expect_call(HOTGEMM_SUCCESS, HOTGEMM_IF_AS_FAST);
}

TEST_F(DeclineTest, AClassThatCannotBePreparedIsTriedOnce) {
  make({{"policy", "cached_only"}, {"cache.read_only_layers", ""}});
  warnings_.take();
  for (int i = 0; i < 3; ++i) {
    expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_PREPARED | HOTGEMM_PREPARE_LATER);
    wait();
  }
  const std::vector<std::string> all = warnings_.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all.front(), HasSubstr("no cubin in the cache"));
  ASSERT_EQ(hotgemm_reload(c_context_, nullptr), HOTGEMM_SUCCESS);
  expect_call(HOTGEMM_NOT_PREPARED, HOTGEMM_IF_PREPARED | HOTGEMM_PREPARE_LATER);
  wait();
  EXPECT_EQ(warnings_.take().size(), 1u) << "after reload it is tried again";
}

}  // namespace
}  // namespace hotgemm::standin
