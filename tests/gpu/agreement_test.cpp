// Tests that tuning does not depend on luck: the same problems are tuned twice, and different picks race once more.

#include "context_impl.hpp"
#include "gpu/gpu_fixture.hpp"

#include "base/statistics.hpp"
#include "config/shapes.hpp"
#include "tune/device_measurer.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace hotgemm {
namespace {

constexpr std::size_t kProblems = 20;
constexpr double kIndistinct = 0.01;

/// Some problems of each shape set, at equal distances. Some sets contain the same problems.
std::vector<Workload> some_problems() {
  std::vector<Workload> all;
  for (const char* set : {"large", "medium", "skinny", "ragged", "deepk", "grid"}) {
    for (const Shape& shape : load_shapes(std::string(HOTGEMM_SOURCE_DIR "/docs/shapes/") + set + ".txt")) {
      if (std::ranges::find(all, shape.workload) == all.end()) all.push_back(shape.workload);
    }
  }
  std::vector<Workload> some;
  for (std::size_t i = 0; i < kProblems; ++i) some.push_back(all[i * all.size() / kProblems]);
  return some;
}

class Agreement : public GpuTest {
 protected:
  struct Pick {
    KernelConfig config;
    LaunchConfig launch;
  };

  std::string cache(int pass) const { return (directory_.path() / std::to_string(pass)).string(); }

  /// Tunes with an empty database; only compiled kernels are cached.
  std::vector<Pick> tune(const std::vector<Workload>& problems, int pass) {
    Context context(options_for(Policy::tune, cache(pass)));
    TuneOptions options;
    options.budget_s = 10;  // as in `hotgemm tune`
    options.scratch_bytes = std::int64_t{8} << 30;
    options.seed = static_cast<std::uint64_t>(pass);
    std::vector<Pick> picks;
    for (const TuneResult& r : context.tune(problems, options)) {
      EXPECT_EQ(r.failure, "") << to_string(r.problem);
      if (!r.failure.empty()) return {};
      picks.push_back({*parse_config(r.config), *parse_launch(r.launch)});
    }
    return picks;
  }

  void copy_kernels(int from, int to) const {
    namespace fs = std::filesystem;
    fs::create_directories(cache(to) + "/v1");
    fs::permissions(cache(to), fs::perms::owner_all);
    fs::permissions(cache(to) + "/v1", fs::perms::owner_all);
    fs::copy(cache(from) + "/v1/cubin", cache(to) + "/v1/cubin", fs::copy_options::recursive);
  }

  /// The interval of the ratio of the first pick's time to the second's.
  Interval ratio_of(const Workload& problem, const Pick& first, const Pick& second) {
    Context context(options_for(Policy::tune, cache(1)));
    Engine& engine = impl_of(context).engine();
    DeviceMeasurer measurer(impl_of(context).current());
    measurer.begin(problem, {.scratch_bytes = std::int64_t{8} << 30, .seed = 3});
    std::vector<Trial> trials;
    for (const Pick& pick : {first, second}) {
      const KernelSource source = render(pick.config, traits_of(problem, pick.launch), gpu().arch(), engine.bundle);
      trials.push_back({pick.config, pick.launch, std::make_shared<const Cubin>(*engine.builder.build(source).cubin)});
    }
    RaceOptions options{.rounds = 41, .round_us = 1000, .seed = 3};
    const double us = median(measurer.race(trials, RaceOptions{.rounds = 1}, false).us[0]);
    options.mode = us < 20 ? TimingMode::graph : TimingMode::eager;
    if (options.mode == TimingMode::eager) options.warm_up_us = kWarmUpUs;
    const RaceResult result = measurer.race(trials, options, false);
    return median_interval(paired_ratios(result.us[0], result.us[1]));
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Agreement, TunedTwiceThePicksAreTheSameOrCannotBeToldApart) {
  if (small_run()) GTEST_SKIP() << "times mean nothing under a checker";
  const std::vector<Workload> problems = some_problems();
  const std::vector<Pick> first = tune(problems, 1);
  copy_kernels(1, 2);
  const std::vector<Pick> second = tune(problems, 2);
  ASSERT_EQ(first.size(), problems.size());
  ASSERT_EQ(second.size(), problems.size());
  int same = 0, indistinct = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (first[i].config == second[i].config && first[i].launch == second[i].launch) {
      ++same;
      continue;
    }
    const Interval ratio = ratio_of(problems[i], first[i], second[i]);
    const bool is_indistinct = ratio.low <= 1 + kIndistinct && ratio.high >= 1 - kIndistinct;
    indistinct += is_indistinct;
    std::printf("%s: %s %s and %s %s: ratio %.4f to %.4f%s\n", to_string(problems[i]).c_str(),
                to_string(first[i].config).c_str(), to_string(first[i].launch).c_str(),
                to_string(second[i].config).c_str(), to_string(second[i].launch).c_str(), ratio.low, ratio.high,
                is_indistinct ? "" : ", told apart");
  }
  std::printf("%d the same, %d not to be told apart at 1 %%, of %zu\n", same, indistinct, problems.size());
  RecordProperty("same", same);
  RecordProperty("indistinct", indistinct);
  EXPECT_GE(same + indistinct, static_cast<int>(kProblems) - 1);
}

}  // namespace
}  // namespace hotgemm
