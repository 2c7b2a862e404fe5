#include "plan/model_fit.hpp"

#include "plan/model.hpp"
#include "plan/wgmma_menu.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

struct Size {
  std::int64_t m, n, k;
};
constexpr Size kFitted[] = {{128, 4096, 4096}, {4096, 4096, 4096}, {64, 1280, 8192},  {1024, 512, 2048},
                            {256, 7168, 2048}, {512, 1024, 8192},  {1536, 1536, 512}, {64, 4096, 16384}};
constexpr Size kHeldBack[] = {{192, 8192, 1024},  {2048, 2048, 2048}, {64, 2048, 16384}, {96, 4096, 11008},
                              {1024, 1024, 1024}, {384, 2304, 6144},  {4096, 1024, 1024}};

/// A GPU on which copies are slower than the present model says, latencies shorter, and clusters dearer.
WgmmaModel other_gpu() {
  WgmmaModel model;
  model.latency_cycles *= 0.5;
  model.row_cycles *= 1.7;
  model.cluster_k_cycles *= 10;
  model.one_tile_cycles *= 0.3;
  model.turnover_cycles *= 2;
  return model;
}

Workload problem_of(const Size& size) {
  return {{.m = size.m, .n = size.n, .k = size.k, .op_b = Op::t}, {.align_a = 16, .align_b = 16, .align_d = 16}};
}

/// A trace of the anchors on a GPU that `truth` describes without error.
std::vector<TraceLine> trace_of(std::span<const Size> sizes, const WgmmaModel& truth) {
  std::vector<TraceLine> lines{TraceHeader{
      .version = "0.1.0", .environment = {.gpu = "NVIDIA H200", .arch = "sm_90a", .sm_count = 132}, .templates = {}}};
  for (const Size& size : sizes) {
    const Workload problem = problem_of(size);
    for (const KernelConfig& config : anchors(problem, arch_limits("sm_90a"))) {
      if (family_of(config).name != "wgmma") continue;
      const double us = predict_us(config, problem, nominal_device("sm_90a"), truth);
      lines.push_back(TraceSample{to_string(problem), to_string(config), "r8m", 0, 0, us});
    }
  }
  return lines;
}

TEST(ModelFit, ReadsEachProblemWithItsConfigs) {
  std::vector<TraceLine> lines = trace_of(kFitted, {});
  lines.push_back(TraceSample{to_string(problem_of(kFitted[0])), "wgmma_of_another_version", "r8m", 0, 0, 1});
  lines.push_back(TraceSample{"no problem", "wgmma_m64", "r8m", 0, 0, 1});
  const std::vector<MeasuredProblem> problems = measured_problems(lines);
  ASSERT_EQ(problems.size(), std::size(kFitted));
  for (std::size_t i = 0; i < problems.size(); ++i) {
    EXPECT_EQ(to_string(problems[i].problem), to_string(problem_of(kFitted[i])));
    EXPECT_EQ(problems[i].device, nominal_device("sm_90a"));
    EXPECT_GT(problems[i].candidates.size(), 20u);
    EXPECT_NEAR(regret(problems[i], {}), 0, 1e-9) << "the trace is what the model says";
  }
  EXPECT_TRUE(measured_problems({}).empty());
}

TEST(ModelFit, AConfigCountsWithItsFastestLaunch) {
  const Workload problem = problem_of(kFitted[0]);
  const auto configs = wgmma_anchors();
  std::vector<TraceLine> lines = trace_of({}, {});
  for (const auto& [launch, us] : {std::pair("r8m", 20.0), std::pair("r4m", 10.0)}) {
    lines.push_back(TraceSample{to_string(problem), to_string(KernelConfig(configs[0])), launch, 0, 0, us});
  }
  lines.push_back(TraceSample{to_string(problem), to_string(KernelConfig(configs[1])), "r8m", 0, 0, 40});
  const std::vector<MeasuredProblem> problems = measured_problems(lines);
  ASSERT_EQ(problems.size(), 1u);
  ASSERT_EQ(problems[0].candidates.size(), 2u);
  EXPECT_DOUBLE_EQ(problems[0].best_us(), 10);
}

TEST(ModelFit, FindsAnotherGpuAndHelpsOnProblemsThatItHasNotSeen) {
  const std::vector<MeasuredProblem> fitted = measured_problems(trace_of(kFitted, other_gpu()));
  const std::vector<MeasuredProblem> held_back = measured_problems(trace_of(kHeldBack, other_gpu()));
  std::vector<double> losses;
  const WgmmaModel model = fit_model(fitted, {}, [&](double loss) { losses.push_back(loss); });
  const double before = fit_loss(fitted, {}), after = fit_loss(fitted, model), least = fit_loss(fitted, other_gpu());
  EXPECT_LT(least, before) << "or there is nothing to find";
  EXPECT_LT(after - least, 0.5 * (before - least));
  EXPECT_TRUE(std::ranges::is_sorted(losses, std::greater()));
  EXPECT_GT(losses.size(), 1u);
  EXPECT_LE(mean_regret(fitted, model), mean_regret(fitted, {}));
  EXPECT_LT(fit_loss(held_back, model), fit_loss(held_back, {}));
  EXPECT_LE(mean_regret(held_back, model), mean_regret(held_back, {}) + 0.015) << "a pick or two may change";
}

}  // namespace
}  // namespace hotgemm
