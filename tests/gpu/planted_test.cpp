// Faults are planted in candidates by editing a copy of the templates. `hotgemm tune` must still find the right winner,
// and report the fault of each candidate.

#include "context_impl.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/planting.hpp"

#include "config/shapes.hpp"
#include "gpu/device.hpp"
#include "tune/candidate.hpp"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <string_view>

namespace hotgemm {
namespace {

constexpr double kHangTimeout = 2;     // seconds, as in the command's help
constexpr double kRestartSeconds = 5;  // for a new worker: process, CUDA context, operands

class PlantedTest : public GpuTest, public testing::WithParamInterface<Victim> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) planting_.emplace(GetParam(), directory_.path());
  }

  /// The result of the command; `status` gets its exit status.
  nlohmann::json tune(const std::string& environment, int* status) const {
    const std::string shape = "1024x" + std::to_string(GetParam().n) + "x1024";
    return TuneProcess{environment, shape, kCandidates, (directory_.path() / "cache").string()}.run(status);
  }

  /// The candidates of the family, without `winner` and the candidates with the same machine code.
  std::vector<KernelConfig> victims(const std::string& winner) {
    Engine& engine = impl_of(gpu().context()).engine();
    const Workload problem = Workload({.m = 1024, .n = GetParam().n, .k = 1024});
    const DeviceInfo device = query_device(driver(), 0);
    std::vector<Candidate> rows = pick_candidates(problem, device, kCandidates);
    build_candidates(rows, problem, gpu().state().environment(), engine, 0);
    merge_twins(rows, problem);
    return planting_->possible_victims(rows, winner);
  }

  static constexpr int kCandidates = 24;

  TemporaryDirectory directory_;
  std::optional<Planting> planting_;
};

TEST_P(PlantedTest, CostTheirOwnRowsAndNoMore) {
  if (small_run()) GTEST_SKIP() << "a checker cannot go on after a fault";
  const std::span faults(kFaults, GetParam().faults);
  int status = -1;
  const nlohmann::json sound = tune("", &status);
  ASSERT_EQ(status, 0);
  const nlohmann::json& winner = sound["results"][0];
  const std::vector<KernelConfig> victims = this->victims(winner["config"]);
  if (victims.size() < faults.size()) GTEST_SKIP() << "this GPU has few candidates of this family";
  planting_->plant(victims, faults);

  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json report = tune("HOTGEMM_TEMPLATE_DIR=" + planting_->templates(), &status);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(status, 0) << report;
  const nlohmann::json& result = report["results"][0];
  std::map<std::string, std::string> reasons;
  for (const nlohmann::json& r : result["rejections"]) reasons[r["config"]] = r["reason"];
  double allowed = sound["results"][0]["seconds"].get<double>() + 20;  // everything is compiled again
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string name = to_string(victims[i]);
    EXPECT_NE(result["config"], name) << faults[i].before;
    const std::string reason = reasons.contains(name) ? reasons[name] : "";
    std::printf("%-14s %s: %.120s\n", faults[i].kind, name.c_str(), reason.c_str());
    EXPECT_EQ(kind_of(reason), faults[i].kind) << name << ": " << reason;
    if (kind_of(reason) == "hung") allowed += kHangTimeout + kRestartSeconds;
    if (kind_of(reason) == "faulted") allowed += kRestartSeconds;
  }
  // The winner had no fault, so it wins again, or a config that is equally fast does.
  EXPECT_TRUE(result["config"] == winner["config"] ||
              result["median_us"].get<double>() < 1.03 * winner["median_us"].get<double>())
      << result << "\n"
      << winner;
  std::printf("%.1f s, of which at most %.1f were allowed\n", seconds, allowed);
  EXPECT_LT(seconds, allowed);

  const auto again_start = std::chrono::steady_clock::now();
  const nlohmann::json again = tune("HOTGEMM_TEMPLATE_DIR=" + planting_->templates(), &status);
  const double again_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - again_start).count();
  ASSERT_EQ(status, 0) << again;
  const auto is_dangerous = [](const Fault& f) {
    return std::string_view(f.kind) != "compile error" && std::string_view(f.kind) != "slow";
  };
  EXPECT_EQ(count_remembered(again["results"][0]), std::ranges::count_if(faults, is_dangerous))
      << "every candidate that ran and was wrong or dangerous is remembered";
  std::printf("%.1f s when they are remembered\n", again_seconds);
  EXPECT_LT(again_seconds, seconds - 2 * kHangTimeout);
}

INSTANTIATE_TEST_SUITE_P(Families, PlantedTest, testing::ValuesIn(kVictims),
                         [](const auto& info) { return info.param.family; });

}  // namespace
}  // namespace hotgemm
