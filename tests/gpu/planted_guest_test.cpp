// Planted faults in the process of a user: a call under Policy::tune meets a class whose candidates fault, hang, write
// elsewhere and compute wrong numbers. With a worker the process lives, and later processes know; without one, each bad
// kernel ends one process.

#include "context_impl.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/planting.hpp"
#include "standin/guest_process.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"
#include "tune/tune.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace hotgemm {
namespace {

constexpr Fault kDangers[] = {kFaults[0], kFaults[1], kFaults[3], kMissingTiles};
constexpr Fault kDeadly[] = {kFaults[0], kFaults[1]};
constexpr int kCandidates = 16;
constexpr double kBudgetS = 16;  // two fifths of it are for measuring, and a kernel that hangs takes two seconds
constexpr double kLateS = 3;     // what may end after the budget

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class PlantedGuest : public GpuTest, public testing::WithParamInterface<Victim> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (small_run()) GTEST_SKIP() << "a checker cannot go on after a fault";
    planting_.emplace(GetParam(), directory_.path());
    // No record of this class ships.
    problem_ = Workload({.m = 1024, .n = GetParam().n + 8, .k = 1056});
    pool_.emplace(driver(), problem_, 0, std::int64_t{1} << 30);
    gpu().state().check_kernels().fill_check(problem_, set(), 3, stream());
  }

  std::filesystem::path cache() const { return directory_.path() / "cache"; }
  ContextOptions options() const {
    ContextOptions options = options_for(Policy::tune, cache().string());
    options.tuning.max_candidates = kCandidates;
    options.tuning.budget_s = kBudgetS;
    options.template_directory = planting_->templates();
    options.worker = HOTGEMM_COMMAND;
    return options;
  }
  const OperandSet& set() const { return pool_->sets().front(); }

  /// The candidates that a call would measure beside the estimate, compiled. Empty if few of them are of the family.
  std::vector<Candidate> candidates() const {
    ContextOptions estimate = options();
    estimate.policy = Policy::estimate;
    Context context(estimate);
    DeviceState& device = impl_of(context).current();
    std::vector<Candidate> rows = tuning_candidates(device, problem_, kCandidates);
    if (planting_->possible_victims(rows, "").size() < std::size(kDangers) + 4) return {};  // some are twins
    build_candidates(rows, problem_, device.environment(), impl_of(context).engine(), 0);
    merge_twins(rows, problem_);
    rows.erase(rows.begin());
    return rows;
  }
  /// Forgets all measurements; the kernels stay.
  void forget_measurements() const {
    for (const char* kind : {"db", "rejected", "vetted"}) std::filesystem::remove_all(cache() / "v1" / kind);
  }
  void expect_right(Context& context) const {
    const auto bytes = static_cast<std::size_t>(problem_.m * set().ldd * size_bytes(problem_.types.d));
    driver().check(driver().cuMemsetD8Async(set().d, 0xff, bytes, stream()), "poison D");
    context.gemm(stream(), problem_, OperandPool::operands(set(), 1, 0));
    EXPECT_EQ(gpu().state().check_kernels().check(problem_, set(), 3, 1, 0, stream()), "");
  }
  /// The time of the pick, as the record of it says.
  double recorded_us(Context& context, const std::string& config) const {
    for (const auto& found : impl_of(context).engine().database.all()) {
      const TuningRecord& r = found.record;
      const bool is_it = r.problem.m == problem_.m && r.problem.n == problem_.n && r.problem.k == problem_.k;
      if (is_it && to_string(r.config) == config) return r.timing.median_us;
    }
    return 0;
  }
  /// True if a process says on disk that it runs `config`, and no others beside it.
  bool is_attempted_alone(const std::string& config) const {
    const std::string marks = standin::attempt_marks(cache());
    return marks.find(config) != marks.npos && marks.find("in a race") == marks.npos;
  }
  static bool is_one_of(const std::string& config, std::span<const KernelConfig> configs) {
    return std::ranges::any_of(configs, [&](const KernelConfig& c) { return to_string(c) == config; });
  }

  Workload problem_{Problem{.m = 1, .n = 1, .k = 1}};
  TemporaryDirectory directory_;
  std::optional<Planting> planting_;
  std::optional<OperandPool> pool_;
};

TEST_P(PlantedGuest, LivesAndPicksTheRightKernel) {
  const std::vector<Candidate> rows = candidates();
  if (rows.empty()) GTEST_SKIP() << "this GPU has few candidates of this family";
  std::string winner;
  double winner_us = 0;
  {
    Context sound(options());
    expect_right(sound);
    const Plan plan = sound.plan(problem_);
    ASSERT_EQ(plan.origin(), Origin::tuned) << plan.explain();
    winner = plan.config();
    winner_us = recorded_us(sound, winner);
  }
  forget_measurements();
  std::vector<KernelConfig> victims = planting_->possible_victims(rows, winner);
  ASSERT_GE(victims.size(), std::size(kDangers));
  victims.resize(std::size(kDangers), victims.front());
  planting_->plant(victims, kDangers);

  std::string config;
  {
    Context context(options());
    const auto start = std::chrono::steady_clock::now();
    expect_right(context);
    const double seconds = seconds_since(start);
    std::printf("the call that tuned took %.1f s\n", seconds);
    EXPECT_LT(seconds, kBudgetS + kLateS);
    const Plan plan = context.plan(problem_);
    EXPECT_EQ(plan.origin(), Origin::tuned) << plan.explain();
    config = plan.config();
    EXPECT_FALSE(is_one_of(config, victims)) << config;
    const double us = recorded_us(context, config);
    EXPECT_TRUE(config == winner || us < 1.05 * winner_us)
        << config << " takes " << us << " us, " << winner << " " << winner_us;
    expect_right(context);
  }

  Context later(options());  // reads what is on disk
  for (std::size_t i = 0; i < std::size(kDangers); ++i) {
    std::string reason;
    for (const RejectionRecord& r : impl_of(later).engine().rejections.all()) {
      if (r.config == to_string(victims[i])) reason = r.reason;
    }
    std::printf("%-14s %s: %.120s\n", kDangers[i].kind, to_string(victims[i]).c_str(), reason.c_str());
    EXPECT_EQ(kind_of(reason), std::string_view(kDangers[i].kind)) << to_string(victims[i]) << ": " << reason;
  }
  expect_right(later);
  EXPECT_EQ(later.plan(problem_).config(), config);
  EXPECT_EQ(later.stats().tuned, 0u);

  const std::string shape =
      std::to_string(problem_.m) + "x" + std::to_string(problem_.n) + "x" + std::to_string(problem_.k);
  int status = -1;
  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json report =
      TuneProcess{"HOTGEMM_TEMPLATE_DIR=" + planting_->templates(), shape, kCandidates, cache().string()}.run(&status);
  const double seconds = seconds_since(start);
  ASSERT_EQ(status, 0) << report;
  EXPECT_EQ(count_remembered(report["results"][0]), std::ssize(kDangers)) << report;
  EXPECT_FALSE(is_one_of(report["results"][0]["config"], victims)) << report;
  std::printf("another process took %.1f s\n", seconds);
}

/// A kernel that faults ends its process, and one that hangs makes its user end it. Each does so once.
TEST_P(PlantedGuest, WithoutAWorkerEndsOncePerKernel) {
  const std::vector<Candidate> rows = candidates();
  if (rows.empty()) GTEST_SKIP() << "this GPU has few candidates of this family";
  std::vector<KernelConfig> victims = planting_->possible_victims(rows, "");
  ASSERT_GE(victims.size(), std::size(kDeadly));
  victims.resize(std::size(kDeadly), victims.front());
  planting_->plant(victims, kDeadly);
  forget_measurements();

  ::setenv("HOTGEMM_WORKER", "none", 1);
  ::setenv("HOTGEMM_TEMPLATE_DIR", planting_->templates().c_str(), 1);
  const std::string hangs = to_string(victims[1]);
  std::string line;
  int ended = 0;
  for (; line.empty() && ended <= std::ssize(kDeadly); ended += line.empty()) {
    standin::GuestProcess guest(
        {.cache = cache(), .problem = to_string(problem_), .candidates = kCandidates, .scratch_bytes = 256 << 20});
    std::optional<std::chrono::steady_clock::time_point> is_marked;
    std::optional<int> status;
    const auto start = std::chrono::steady_clock::now();
    while (!(status = guest.status_if_ended())) {
      if (!is_attempted_alone(hangs)) {
        is_marked.reset();
      } else if (!is_marked) {
        is_marked = std::chrono::steady_clock::now();
      }
      const bool has_hung = (is_marked && seconds_since(*is_marked) > 3) || seconds_since(start) > 30;
      if (has_hung) {
        guest.kill();
        guest.wait();
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (status) line = guest.origin_and_config();
    std::printf("process %d %s after %.1f s: %s\n", ended, status ? "ended" : "hung", seconds_since(start),
                line.c_str());
  }
  ::unsetenv("HOTGEMM_WORKER");
  ::unsetenv("HOTGEMM_TEMPLATE_DIR");
  EXPECT_EQ(ended, std::ssize(kDeadly));
  EXPECT_THAT(line, testing::StartsWith("tuned "));
  for (const KernelConfig& victim : victims) EXPECT_THAT(line, testing::Not(testing::HasSubstr(to_string(victim))));
  EXPECT_EQ(standin::attempt_marks(cache()), "");
}

INSTANTIATE_TEST_SUITE_P(Families, PlantedGuest, testing::ValuesIn(kVictims),
                         [](const auto& info) { return info.param.family; });

}  // namespace
}  // namespace hotgemm
