// The time of a fused kernel over that of the bare product, and over that of its rival.

#include "standin/fake_cublas.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/class_key.hpp"
#include "gpu/operand_pool.hpp"
#include "tune/bench.hpp"
#include "tune/device_measurer.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace hotgemm::standin {
namespace {

/// Our fused kernel takes 3 ms, the bare one 2 ms; cuBLASLt's algorithms take 6, 2 and 4 ms.
class FusedBenchTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    standin().set_speed("hotgemm_", 1000);
    fake_.launch = [](CUstream stream, int algorithm) {
      constexpr int kTimes[] = {4, 6, 2, 4};
      for (int i = 0; i < kTimes[algorithm]; ++i) launch_(stream);
    };
    launch_ = [this, plan = context(Policy::estimate).plan(without_epilogue(problem_))](CUstream on) {
      OperandSet bare = pool().sets().front();
      bare.epilogue = {};
      plan.launch(on, OperandPool::operands(bare, 1, 0));
    };
  }
  void TearDown() override {
    launch_ = nullptr;
    forget_fake_cublas();
    pool_.reset();
    RuntimeTest::TearDown();
  }

  const OperandPool& pool() {
    if (!pool_) pool_.emplace(driver_, problem_, 1 << 18, 1 << 18);
    return *pool_;
  }
  static Contender repeated(const char* name, int times) {
    return {name, [times](CUstream on, int) {
              for (int i = 0; i < times; ++i) launch_(on);
            }};
  }
  static void expect_over_bare(const BenchResult& result, Measure measure) {
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.measure, measure);
    EXPECT_EQ(result.bare.name, "bare");
    EXPECT_NEAR(result.bare.median_us, 2000, 5);
    EXPECT_NEAR(result.ours.median_us, 3000, 5);
    EXPECT_NEAR(result.over_bare, 1.5, 0.01);
    const nlohmann::json json = nlohmann::json::parse(to_json(result).dump());
    EXPECT_EQ(json.at("over_bare"), result.over_bare);
    EXPECT_EQ(json.at("bare").at("name"), "bare");
    EXPECT_EQ(json.at("over_bare_ci").size(), 2U);
  }
  BenchOptions options(Measure measure) const {
    return {
        .rounds = 7, .mode = TimingMode::eager, .measure = measure, .pairs = 2, .alpha = 1, .beta = 0, .bare = &bare_};
  }

  static inline std::function<void(CUstream)> launch_;
  Workload problem_ = parse_workload("64 48 32 nt bf16 epilogue=bias+gelu");
  Contender ours_ = repeated("ours", 3), bare_ = repeated("bare", 2);
  FakeCublas& fake_ = use_fake_cublas(HOTGEMM_FAKE_CUBLAS);
  std::optional<OperandPool> pool_;
};

TEST_F(FusedBenchTest, RacesAgainstTheRivalAndTheBareProduct) {
  CublasBaseline cublas(driver_);
  ASSERT_TRUE(cublas.available()) << cublas.why_not();
  for (const Measure measure : {Measure::rounds, Measure::sustained}) {
    const BenchResult result =
        bench_problem(driver_, stream(), ours_, pool().sets(), problem_, cublas, options(measure));
    expect_over_bare(result, measure);
    EXPECT_EQ(result.baseline, "cublasLt[1] algo 2");
    EXPECT_EQ(result.cublas_default.name, "cublasLtMatmul") << "cublasGemmEx has no epilogue";
    EXPECT_NEAR(result.ratio, 2.0 / 3, 0.01);
  }
}

TEST_F(FusedBenchTest, WithoutARivalTheBareProductRemains) {
  for (const Measure measure : {Measure::rounds, Measure::sustained}) {
    const BenchResult result = bench_alone(driver_, stream(), ours_, pool().sets(), problem_, options(measure));
    expect_over_bare(result, measure);
    EXPECT_TRUE(std::isnan(result.ratio));
    EXPECT_EQ(result.baseline, "");
  }
  const Contender broken{"broken", [](CUstream, int) { throw Error(ErrorCode::driver_error, "no such thing"); }};
  BenchOptions with_broken = options(Measure::rounds);
  with_broken.bare = &broken;
  const BenchResult failed = bench_alone(driver_, stream(), ours_, pool().sets(), problem_, with_broken);
  EXPECT_THAT(failed.failure, testing::HasSubstr("broken: no such thing"));
  EXPECT_TRUE(std::isnan(failed.over_bare));
}

TEST_F(FusedBenchTest, SingleConfigsAreMeasuredWithoutEpilogue) {
  DeviceMeasurer measurer(impl_of(context(Policy::estimate)).current());
  expect_thrown(ErrorCode::not_supported, {"leave out the epilogue", "epilogue=bias+gelu"},
                [&] { measurer.begin(problem_, {.scratch_bytes = 1 << 20}); });
}
}  // namespace
}  // namespace hotgemm::standin
