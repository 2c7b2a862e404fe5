#include "tune/bench.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kScreenRatio = 1.35;  // the screen drops a baseline that is slower than the best by this factor
constexpr int kScreenRounds = 3;
constexpr double kScreenRoundUs = 1000;
constexpr std::size_t kFinalists = 8;  // several, because the fastest of a screen may just have been lucky
constexpr int kPlayoffRounds = 7;
constexpr int kModeRounds = 3;

RaceOptions race_options(const BenchOptions& options, TimingMode mode, std::span<const OperandSet> sets) {
  RaceOptions race_options;
  race_options.mode = mode;
  race_options.sets = static_cast<int>(sets.size());
  race_options.rounds = options.rounds;
  race_options.round_us = options.round_us;
  race_options.seed = options.seed;
  return race_options;
}

BenchSide make_side(const std::string& name, const Workload& problem, std::span<const double> us) {
  BenchSide side;
  side.name = name;
  side.median_us = median(us);
  side.iqr_us = interquartile_range(us);
  side.tflops = 2e-6 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                static_cast<double>(problem.k) / side.median_us;
  return side;
}

/// The indices of the contenders that were timed, fastest first.
std::vector<std::size_t> ranking(const RaceResult& result) {
  std::vector<std::pair<double, std::size_t>> timed;
  for (std::size_t i = 0; i < result.us.size(); ++i) {
    const double us = median(result.us[i]);
    if (result.failures[i].empty() && !std::isnan(us)) timed.emplace_back(us, i);
  }
  std::sort(timed.begin(), timed.end());
  std::vector<std::size_t> order;
  for (const auto& [us, index] : timed) order.push_back(index);
  return order;
}

/// The contenders that our kernel is compared with. One of them may be missing, but not both.
struct Baseline {
  std::optional<Contender> cublas_default;
  std::optional<Contender> best_lt;
  bool lt_is_faster = false;
};

/// Screens all contenders, then races the fastest few. `all` begins with cuBLAS's default.
Baseline choose_baseline(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                         const RaceOptions& options) {
  RaceOptions screen = options;
  screen.rounds = kScreenRounds;
  screen.round_us = std::min(options.round_us, kScreenRoundUs);
  screen.seed += 1;
  screen.abandon_ratio = kScreenRatio;
  const RaceResult screened = race(driver, stream, all, screen);

  std::vector<std::size_t> order = ranking(screened);
  std::erase(order, std::size_t{0});
  if (order.size() > kFinalists) order.resize(kFinalists);
  if (screened.failures[0].empty()) order.push_back(0);  // reported even if it is slow
  if (order.empty()) throw Error(ErrorCode::not_supported, "cuBLAS could not run: " + screened.failures[0]);
  std::vector<Contender> finalists;
  for (const std::size_t index : order) finalists.push_back(all[index]);

  RaceOptions playoff = options;
  playoff.rounds = kPlayoffRounds;
  playoff.seed += 2;
  const RaceResult raced = race(driver, stream, finalists, playoff);
  Baseline baseline;
  for (const std::size_t place : ranking(raced)) {  // the order is fastest first, so the first of each kind is its best
    if (order[place] == 0) {
      baseline.cublas_default = finalists[place];
    } else if (!baseline.best_lt) {
      baseline.best_lt = finalists[place];
      baseline.lt_is_faster = !baseline.cublas_default;
    }
  }
  if (!baseline.cublas_default && !baseline.best_lt) {
    throw Error(ErrorCode::not_supported, "cuBLAS could not run: " + raced.failures[0]);
  }
  return baseline;
}

/// cuBLAS's default, then the algorithms that cuBLASLt's heuristics return.
std::vector<Contender> all_of_cublas(CublasBaseline& cublas, const Workload& problem, std::span<const OperandSet> sets,
                                     const BenchOptions& options) {
  std::vector<Contender> all{cublas.default_gemm(problem, sets, options.alpha, options.beta)};
  for (Contender& contender : cublas.lt_heuristics(problem, sets, options.alpha, options.beta)) {
    all.push_back(std::move(contender));
  }
  return all;
}

/// Takes fresh samples of our kernel and of the baseline, and fills in all results that are reported.
void measure(const Driver& driver, CUstream stream, const Contender& ours, const Baseline& baseline,
             const RaceOptions& options, BenchResult& result) {
  std::vector<Contender> contenders{ours};
  if (baseline.cublas_default) contenders.push_back(*baseline.cublas_default);
  if (baseline.best_lt) contenders.push_back(*baseline.best_lt);
  const RaceResult raced = race(driver, stream, contenders, options);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (!raced.failures[i].empty()) {
      throw Error(ErrorCode::not_supported, contenders[i].name + ": " + raced.failures[i]);
    }
  }
  std::size_t next = 0;
  result.ours = make_side(ours.name, result.problem, raced.us[next++]);
  std::size_t baseline_index = next;
  if (baseline.cublas_default) {
    result.cublas_default = make_side(baseline.cublas_default->name, result.problem, raced.us[next++]);
  }
  if (baseline.best_lt) {
    if (baseline.lt_is_faster) baseline_index = next;
    result.best_lt = make_side(baseline.best_lt->name, result.problem, raced.us[next]);
  }
  result.baseline = contenders[baseline_index].name;
  const std::vector<double> ratios = paired_ratios(raced.us[baseline_index], raced.us[0]);
  result.ratio = median(ratios);
  result.ci = median_interval(ratios);
  result.tie = is_tie(result.ci);
}

/// The eager time of our kernel or of cuBLAS's default, whichever is faster. Infinite if neither runs.
double quick_us(const Driver& driver, CUstream stream, const Contender& ours, std::span<const OperandSet> sets,
                const Workload& problem, CublasBaseline& cublas, const BenchOptions& options) {
  RaceOptions quick = race_options(options, TimingMode::eager, sets);
  quick.rounds = kModeRounds;
  quick.round_us = std::min(quick.round_us, kScreenRoundUs);
  const std::vector<Contender> contenders{ours, cublas.default_gemm(problem, sets, options.alpha, options.beta)};
  const RaceResult raced = race(driver, stream, contenders, quick);
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t index : ranking(raced)) best = std::min(best, median(raced.us[index]));
  return best;
}

nlohmann::json side_json(const BenchSide& side) {
  return {{"name", side.name}, {"median_us", side.median_us}, {"iqr_us", side.iqr_us}, {"tflops", side.tflops}};
}

}  // namespace

Contender fastest_baseline(const Driver& driver, CUstream stream, std::span<const OperandSet> sets,
                           const Workload& problem, CublasBaseline& cublas, const BenchOptions& options) {
  RaceOptions quick = race_options(options, options.mode.value_or(TimingMode::eager), sets);
  quick.round_us = kScreenRoundUs;
  Baseline found = choose_baseline(driver, stream, all_of_cublas(cublas, problem, sets, options), quick);
  return std::move(found.lt_is_faster ? *found.best_lt : *found.cublas_default);
}

BenchResult bench_problem(const Driver& driver, CUstream stream, const Contender& ours,
                          std::span<const OperandSet> sets, const Workload& problem, CublasBaseline& cublas,
                          const BenchOptions& options) {
  BenchResult result;
  result.problem = problem;
  result.mode = options.mode.value_or(TimingMode::eager);
  result.ours.name = ours.name;
  if (!cublas.available()) {
    result.failure = "no cuBLAS to compare with: " + cublas.why_not();
    return result;
  }
  try {
    if (!options.mode && quick_us(driver, stream, ours, sets, problem, cublas, options) < kGraphBelowUs) {
      result.mode = TimingMode::graph;
    }
    const std::vector<Contender> all = all_of_cublas(cublas, problem, sets, options);
    result.lt_algorithms = static_cast<int>(all.size()) - 1;
    const RaceOptions race_options = hotgemm::race_options(options, result.mode, sets);
    const Baseline baseline = choose_baseline(driver, stream, all, race_options);
    measure(driver, stream, ours, baseline, race_options, result);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    result.failure = error.what();
  }
  return result;
}

std::vector<BenchResult> bench_in_all_modes(const Driver& driver, CUstream stream, const Contender& ours,
                                            std::span<const OperandSet> sets, const Workload& problem,
                                            CublasBaseline& cublas, const BenchOptions& options) {
  BenchOptions one = options;
  if (!one.mode) one.mode = TimingMode::eager;
  std::vector<BenchResult> results{bench_problem(driver, stream, ours, sets, problem, cublas, one)};
  const BenchResult& eager = results.front();
  // Use fmin, because the time of a side that was not timed is NaN.
  const double fastest_us =
      std::fmin(eager.ours.median_us, std::fmin(eager.cublas_default.median_us, eager.best_lt.median_us));
  if (options.mode || !eager.failure.empty() || !(fastest_us < kGraphBelowUs)) return results;
  one.mode = TimingMode::graph;
  results.push_back(bench_problem(driver, stream, ours, sets, problem, cublas, one));
  return results;
}

nlohmann::json to_json(const BenchResult& result) {
  nlohmann::json json{{"problem", to_string(result.problem)},
                      {"mode", to_string(result.mode)},
                      {"ours", side_json(result.ours)},
                      {"origin", result.origin},
                      {"cublas_default", side_json(result.cublas_default)},
                      {"best_lt", side_json(result.best_lt)},
                      {"lt_algorithms", result.lt_algorithms},
                      {"baseline", result.baseline},
                      {"ratio", result.ratio},
                      {"ci", {result.ci.low, result.ci.high}},
                      {"tie", result.tie},
                      {"ceiling_tflops", result.ceiling_tflops},
                      {"of_ceiling", result.of_ceiling},
                      {"of_ceiling_ci", {result.of_ceiling_ci.low, result.of_ceiling_ci.high}}};
  if (!result.failure.empty()) json["failure"] = result.failure;
  return json;
}

}  // namespace hotgemm
