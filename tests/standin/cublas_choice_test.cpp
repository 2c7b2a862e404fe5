#include "standin/fake_cublas.hpp"
#include "standin/fake_trials.hpp"
#include "standin/runtime_fixture.hpp"

#include "gpu/operand_pool.hpp"
#include "tune/bench.hpp"
#include "tune/device_measurer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace hotgemm::standin {
namespace {

/// Tests of the choice among cuBLAS's algorithms, with a fake cuBLAS on the stand-in's simulated clock. Our kernel
/// takes 2 ms, cuBLAS's default 4 ms, and its algorithms 6, 2 and 4 ms.
class CublasChoiceTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    standin().set_speed("hotgemm_", 2000);
    fake_.launch = [](CUstream stream, int algorithm) {
      constexpr int kTimes[] = {2, 3, 1, 2};
      for (int i = 0; i < kTimes[algorithm]; ++i) launch_(stream);
    };
    launch_ = [this, plan = plan()](CUstream on) { launch(plan, on, 0); };
  }
  void TearDown() override {
    launch_ = nullptr;
    forget_fake_cublas();
    pool_.reset();
    RuntimeTest::TearDown();
  }

  void launch(const Plan& plan, CUstream on, int set) {
    plan.launch(on, OperandPool::operands(pool().sets()[static_cast<std::size_t>(set)], 1, 0));
  }
  const OperandPool& pool() {
    if (!pool_) pool_.emplace(driver_, problem(), 1 << 20, 1 << 18);
    return *pool_;
  }
  static Workload problem() { return small_case().described(); }
  Plan plan() { return context(Policy::estimate).plan(problem()); }
  CublasChoices& choices() { return impl_of(context(Policy::estimate)).engine().cublas_choices; }

  /// As a process of its own would do it: choices of earlier calls are only on disk.
  BenchResult bench(Measure measure, bool afresh = false) {
    CublasChoices on_disk(LayerOptions{.user_directory = cache_.path()});
    CublasBaseline cublas(driver_);
    EXPECT_TRUE(cublas.available()) << cublas.why_not();
    const Contender ours{"ours", [this, plan = plan()](CUstream on, int set) { launch(plan, on, set); }};
    return bench_problem(driver_, stream(), ours, pool().sets(), problem(), cublas,
                         {.rounds = 3,
                          .mode = TimingMode::eager,
                          .measure = measure,
                          .pairs = 1,
                          .kept = {&on_disk, "NVIDIA H200", afresh}});
  }
  static void expect_second(const BenchResult& result) {
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.baseline, "cublasLt[1] algo 2");
    EXPECT_EQ(result.best_lt.name, "cublasLt[1] algo 2");
    EXPECT_NEAR(result.ratio, 1, 0.01);
    EXPECT_NEAR(result.cublas_default.median_us, 4000, 10) << "the default runs in the final too";
  }

  static inline std::function<void(CUstream)> launch_;
  FakeCublas& fake_ = use_fake_cublas(HOTGEMM_FAKE_CUBLAS);
  std::optional<OperandPool> pool_;
};

TEST_F(CublasChoiceTest, IsMadeOnceForEachMeasure) {
  for (const Measure measure : {Measure::rounds, Measure::sustained}) {
    const BenchResult first = bench(measure);
    expect_second(first);
    EXPECT_EQ(first.choice_kept_since, 0);
    EXPECT_EQ(first.lt_algorithms, 3);
    const int asked = fake_.asked;
    const std::size_t launched = standin().launches("hotgemm_");
    const BenchResult second = bench(measure);
    expect_second(second);
    EXPECT_GT(second.choice_kept_since, 0);
    EXPECT_EQ(second.lt_algorithms, 0);
    EXPECT_EQ(second.best_lt_algorithm, first.best_lt_algorithm);
    EXPECT_EQ(fake_.asked, asked) << "straight to the final";
    EXPECT_GT(standin().launches("hotgemm_"), launched) << "whose samples are fresh";
    EXPECT_EQ(nlohmann::json::parse(to_json(second).dump()).at("choice_kept_since"), second.choice_kept_since);
  }
}

TEST_F(CublasChoiceTest, OnRequestItIsMadeAgain) {
  bench(Measure::rounds);
  fake_.algorithms = 1;
  const BenchResult again = bench(Measure::rounds, true);
  EXPECT_EQ(again.choice_kept_since, 0);
  EXPECT_EQ(again.baseline, "cublasGemmEx");
  EXPECT_EQ(bench(Measure::rounds).baseline, "cublasGemmEx") << "the new choice has replaced the old one";
}

TEST_F(CublasChoiceTest, AnAlgorithmThatCannotRunIsNotUsed) {
  const auto expect_default = [&] {
    const BenchResult result = bench(Measure::rounds);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.choice_kept_since, 0);
    EXPECT_NE(result.best_lt.name, "cublasLt[1] algo 2");
  };
  bench(Measure::rounds);
  fake_.broken = {2};  // the check accepts it, and it fails when it is launched
  expect_default();
  fake_.broken = {};
  bench(Measure::rounds, true);
  fake_.refused = {2};
  fake_.algorithms = 1;  // the heuristics do not return it any more
  expect_default();
}

TEST_F(CublasChoiceTest, AnotherVersionChoosesForItself) {
  bench(Measure::rounds);
  fake_.version = 130200;
  EXPECT_EQ(bench(Measure::rounds).choice_kept_since, 0);
  EXPECT_GT(bench(Measure::rounds).choice_kept_since, 0);
}

TEST_F(CublasChoiceTest, APickIsComparedWithTheBest) {
  const std::vector<Trial> trials = fake_trials(problem(), 1);
  has_real_kernels_ = false;
  DeviceMeasurer measurer(impl_of(context(Policy::estimate)).current());
  measurer.begin(problem(), {.scratch_bytes = 1 << 20});
  ASSERT_EQ(measurer.check(trials, 1).front().reason, "");
  for (const Measure measure : {Measure::rounds, Measure::sustained}) {
    const CublasComparison comparison = measurer.compare_with_cublas(trials[0], {.measure = measure});
    EXPECT_EQ(comparison.version, "13.1.0");
    EXPECT_NEAR(comparison.ratio, 1, 0.01);
    EXPECT_NEAR(comparison.default_ratio, 2, 0.02);
    EXPECT_EQ(comparison.algorithm.size(), 128u);
    EXPECT_EQ(comparison.algorithm.substr(0, 16), "1032547698badcfe");
  }
  const CublasComparison with_default = measurer.compare_with_cublas(trials[0], {.scope = CublasScope::default_only});
  EXPECT_NEAR(with_default.default_ratio, 2, 0.02);
  EXPECT_EQ(with_default.ratio, 0) << "of the best, which did not run";
  EXPECT_EQ(with_default.algorithm, "");
  expect_thrown(ErrorCode::not_supported, {"power", "unknown"}, [&] {
    measurer.compare_with_cublas(trials[0], {.measure = Measure::sustained, .objective = Objective::energy});
  });
  measurer.end();
}

TEST(CublasComparisonTest, ForEnergyJoulesDecide) {
  const auto side = [](const char* name, double us, double watts) {
    BenchSide side{.name = name, .median_us = us};
    side.blocks.emplace().clock.watts = watts;
    return side;
  };
  BenchResult result;
  result.ours = side("ours", 100, 500);
  result.cublas_default = side("cublasGemmEx", 110, 480);
  result.best_lt = side("lt", 90, 700);
  result.best_lt_algorithm = "ab";
  result.baseline = "lt";
  result.ratio = 0.9;
  const CublasComparison fast = comparison_of(result, Objective::speed, "13.1.0");
  EXPECT_EQ(fast.algorithm, "ab");
  EXPECT_NEAR(fast.ratio, 0.9, 1e-9);
  EXPECT_NEAR(fast.default_ratio, 1.1, 1e-9);
  const CublasComparison frugal = comparison_of(result, Objective::energy, "13.1.0");
  EXPECT_EQ(frugal.algorithm, "") << "the default needs fewer joules";
  EXPECT_NEAR(frugal.ratio, 110 * 480 / 5e4, 1e-9);
  EXPECT_EQ(frugal.ratio, frugal.default_ratio);
  result.best_lt = side("lt", 130, 300);
  result.baseline = "cublasGemmEx";
  const CublasComparison slow = comparison_of(result, Objective::energy, "13.1.0");
  EXPECT_EQ(slow.algorithm, "ab") << "it is slower than the default, and needs fewer joules";
  EXPECT_NEAR(slow.ratio, 130 * 300 / 5e4, 1e-9);
  EXPECT_NEAR(slow.default_ratio, 110 * 480 / 5e4, 1e-9);
  result.cublas_default = {};
  const CublasComparison alone = comparison_of(result, Objective::energy, "13.1.0");
  EXPECT_EQ(alone.algorithm, "ab");
  EXPECT_EQ(alone.ratio, slow.ratio);
  EXPECT_EQ(alone.default_ratio, 0) << "the default did not run";
}

}  // namespace
}  // namespace hotgemm::standin
