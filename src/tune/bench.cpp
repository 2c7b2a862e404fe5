#include "tune/bench.hpp"

#include "config/work.hpp"
#include "plan/power_model.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kScreenRoundUs = 1000;
constexpr int kModeRounds = 3;
constexpr double kReloadS = 0.5;  // the same if the GPU was busy until just now
constexpr double kVerdictS = 1;

RaceOptions race_options(const BenchOptions& options, TimingMode mode, std::span<const OperandSet> sets) {
  RaceOptions race_options;
  race_options.mode = mode;
  race_options.sets = static_cast<int>(sets.size());
  race_options.rounds = options.rounds;
  race_options.round_us = options.round_us;
  race_options.seed = options.seed;
  race_options.ahead = options.ahead;
  return race_options;
}

}  // namespace

BenchSide make_side(const std::string& name, const Workload& problem, const RaceResult& raced, std::size_t row) {
  const std::vector<double>& us = raced.us[row];
  BenchSide side;
  side.name = name;
  side.median_us = median(us);
  side.iqr_us = interquartile_range(us);
  side.tflops = 1e-6 * flops(problem) / side.median_us;
  if (!raced.blocks.empty()) side.blocks = raced.blocks[row];
  return side;
}

namespace {

/// A side of the result, and what runs for it.
struct Place {
  BenchSide* side;
  const Contender* contender;
};

/// Races the contenders of `places` in this order, and fills in all that does not depend on a baseline: the sides, the
/// measure, the limit of power, and the ratio of our time to that of the bare product. Throws Error{not_supported} if
/// one of them fails.
RaceResult race_sides(const Driver& driver, CUstream stream, std::span<const Place> places, const RaceOptions& options,
                      BenchResult& result) {
  std::vector<Contender> contenders;
  for (const Place& place : places) contenders.push_back(*place.contender);
  RaceResult raced = race(driver, stream, contenders, options);
  std::span<const double> ours, bare;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!raced.failures[i].empty()) {
      throw Error(ErrorCode::not_supported, contenders[i].name + ": " + raced.failures[i]);
    }
    *places[i].side = make_side(contenders[i].name, result.problem, raced, i);
    if (places[i].side == &result.ours) ours = raced.us[i];
    if (places[i].side == &result.bare) bare = raced.us[i];
  }
  result.measure = options.blocks ? Measure::sustained : options.ahead ? Measure::behind : Measure::rounds;
  result.power_limit_w = raced.power_limit_w;
  if (!bare.empty()) {
    const std::vector<double> ratios = paired_ratios(ours, bare);
    result.over_bare = median(ratios);
    result.over_bare_ci = median_interval(ratios);
  }
  return raced;
}

/// Takes fresh samples of our kernel, of the baseline and of `bare`, by the measure of `options`, and fills in what is
/// reported. In blocks ours is the neighbour of the two that it is compared with: both baselines, or the faster one and
/// `bare`.
void measure(const Driver& driver, CUstream stream, const Contender& ours, const Baseline& baseline,
             const Contender* bare, const RaceOptions& options, BenchResult& result) {
  std::vector<Place> places;
  if (baseline.cublas_default) places.push_back({&result.cublas_default, &*baseline.cublas_default});
  if (baseline.best_lt) places.push_back({&result.best_lt, &baseline.best_lt->contender});
  if (bare == nullptr) {
    places.insert(places.begin() + (baseline.cublas_default ? 1 : 0), {&result.ours, &ours});
  } else {
    if (places.back().contender != &baseline.faster()) std::swap(places.front(), places.back());
    places.push_back({&result.ours, &ours});
    places.push_back({&result.bare, bare});
  }
  const RaceResult raced = race_sides(driver, stream, places, options, result);
  const auto us_of = [&](const Contender* contender) -> const std::vector<double>& {
    return raced.us[static_cast<std::size_t>(std::ranges::find(places, contender, &Place::contender) - places.begin())];
  };
  result.baseline = baseline.faster().name;
  result.best_lt_algorithm = baseline.best_lt ? baseline.best_lt->algorithm : "";
  result.choice_kept_since = baseline.kept_since;
  const std::vector<double> ratios = paired_ratios(us_of(&baseline.faster()), us_of(&ours));
  result.ratio = median(ratios);
  result.ci = median_interval(ratios);
  result.tie = is_tie(result.ci);
}

/// The eager time of our kernel or of cuBLAS's default, whichever is faster. Infinite if neither runs.
double quick_us(const Driver& driver, CUstream stream, const Contender& ours, const Contender& cublas,
                std::span<const OperandSet> sets, const BenchOptions& options) {
  RaceOptions quick = race_options(options, TimingMode::eager, sets);
  quick.rounds = kModeRounds;
  quick.round_us = std::min(quick.round_us, kScreenRoundUs);
  const RaceResult raced = race(driver, stream, std::vector{ours, cublas}, quick);
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t index : ranking(raced)) best = std::min(best, median(raced.us[index]));
  return best;
}

/// The verdict on the limit of the clock while `contender` runs alone.
PowerVerdict power_verdict(const Driver& driver, CUstream stream, const Contender& contender, RaceOptions options) {
  options.rounds = 1;
  options.blocks = BlockLengths{.settle_s = 0, .counted_s = kVerdictS};
  return verdict_of(race(driver, stream, std::span(&contender, 1), options).blocks[0].clock);
}

/// Chooses the measure that decides, and the timing mode if it is open. Fills in both, and the verdict on power.
void choose_measure(const Driver& driver, CUstream stream, const Contender& ours, const Contender& cublas,
                    std::span<const OperandSet> sets, const BenchOptions& options, BenchResult& result) {
  result.measure = options.measure.value_or(Measure::rounds);
  if (options.mode && options.measure) return;
  const double us = quick_us(driver, stream, ours, cublas, sets, options);
  if (!options.mode && us < kGraphBelowUs) result.mode = TimingMode::graph;
  if (options.measure) return;
  result.power = PowerVerdict::free;
  if (us < kGraphBelowUs || !may_reach_power_cap(result.problem, us, options.device)) return;
  result.power = power_verdict(driver, stream, cublas, race_options(options, result.mode, sets));
  if (result.power == PowerVerdict::binds) result.measure = Measure::sustained;
}

/// Measures against the baseline that `choose` returns. If it is a kept choice that cannot run, chooses a new one and
/// measures again.
void measure_against(const Driver& driver, CUstream stream, const Contender& ours, BaselineChooser& chooser,
                     const Contender* bare, const std::function<Baseline()>& choose, const RaceOptions& options,
                     BenchResult& result) {
  const Baseline baseline = choose();
  try {
    measure(driver, stream, ours, baseline, bare, options, result);
    return;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost || baseline.kept_since == 0) throw;
  }
  chooser.distrust_kept();
  measure(driver, stream, ours, choose(), bare, options, result);
}

/// Measures by rounds and, if blocks decide, by blocks. The other measure's ratio is then beside the deciding one.
void measure_both(const Driver& driver, CUstream stream, const Contender& ours, BaselineChooser& chooser,
                  const BenchOptions& options, RaceOptions race_options, BenchResult& result) {
  const bool by_blocks = result.measure == Measure::sustained;
  const RaceOptions rounds = race_options;
  const auto by_rounds = [&] {
    return options.default_only ? chooser.default_alone() : chooser.by_rounds(race_options);
  };
  const auto other_of = [](const BenchResult& r) { return OtherMeasure{r.measure, r.ratio, r.ci, r.baseline}; };
  measure_against(driver, stream, ours, chooser, options.bare, by_rounds, race_options, result);
  if (by_blocks) {
    result.other = other_of(result);
    race_options.rounds = options.pairs;
    race_options.blocks = BlockLengths{.load_s = kReloadS};
    const auto choose = [&] { return options.default_only ? by_rounds() : chooser.by_blocks(rounds, kLoadS); };
    measure_against(driver, stream, ours, chooser, options.bare, choose, race_options, result);
  } else if (race_options.ahead) {  // the ratio in chains of each contender alone is shown beside it
    race_options.ahead = {};
    BenchResult in_chains = result;
    measure_against(driver, stream, ours, chooser, options.bare, by_rounds, race_options, in_chains);
    result.other = other_of(in_chains);
  }
}

/// NaN and zero become null.
nlohmann::json known(double value) { return value > 0 ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json side_json(const BenchSide& side) {
  nlohmann::json json{
      {"name", side.name}, {"median_us", side.median_us}, {"iqr_us", side.iqr_us}, {"tflops", side.tflops}};
  if (!side.blocks) return json;
  const ClockState& clock = side.blocks->clock;
  json["clock_mhz"] = known(clock.mhz);
  json["power_w"] = known(clock.watts);
  json["throttle"] = clock.samples > 0 ? nlohmann::json(throttle_text(clock.reasons)) : nlohmann::json();
  json["unsteady_blocks"] = side.blocks->unsteady;
  return json;
}

}  // namespace

Contender fastest_baseline(const Driver& driver, CUstream stream, std::span<const OperandSet> sets,
                           const Workload& problem, CublasBaseline& cublas, const BenchOptions& options) {
  RaceOptions quick = race_options(options, options.mode.value_or(TimingMode::eager), sets);
  quick.round_us = kScreenRoundUs;
  BaselineChooser chooser(driver, stream, cublas, problem, sets, options.alpha, options.beta, options.kept);
  return chooser.by_rounds(quick).faster();
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
    BaselineChooser chooser(driver, stream, cublas, problem, sets, options.alpha, options.beta, options.kept);
    choose_measure(driver, stream, ours, chooser.cublas_default(), sets, options, result);
    measure_both(driver, stream, ours, chooser, options, race_options(options, result.mode, sets), result);
    result.lt_algorithms = chooser.tried();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    result.failure = error.what();
  }
  return result;
}

BenchResult bench_alone(const Driver& driver, CUstream stream, const Contender& ours, std::span<const OperandSet> sets,
                        const Workload& problem, const BenchOptions& options) {
  BenchResult result;
  result.problem = problem;
  result.mode = options.mode.value_or(TimingMode::eager);
  RaceOptions alone = race_options(options, result.mode, sets);
  if (options.measure == Measure::sustained) {
    alone.rounds = options.pairs;
    alone.blocks = BlockLengths{.load_s = kLoadS};
  }
  std::vector<Place> places{{&result.ours, &ours}};
  if (options.bare != nullptr) places.push_back({&result.bare, options.bare});
  try {
    race_sides(driver, stream, places, alone, result);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    result = {.problem = problem, .mode = result.mode, .failure = error.what()};
  }
  return result;
}

CublasComparison comparison_of(const BenchResult& result, Objective objective, const std::string& version) {
  const auto cost = [&](const BenchSide& side) {
    if (objective == Objective::speed) return side.median_us;
    return side.blocks ? side.median_us * side.blocks->clock.watts : std::numeric_limits<double>::quiet_NaN();
  };
  const double ours = cost(result.ours), by_default = cost(result.cublas_default), by_lt = cost(result.best_lt);
  const bool lt_is_best =
      objective == Objective::energy ? std::fmin(by_default, by_lt) == by_lt : result.baseline == result.best_lt.name;
  CublasComparison comparison{.version = version};
  if (lt_is_best) comparison.algorithm = result.best_lt_algorithm;
  const double paired = objective == Objective::speed ? result.ratio : (lt_is_best ? by_lt : by_default) / ours;
  if (!(paired > 0))
    throw Error(ErrorCode::not_supported, objective == Objective::energy ? "the power that the GPU draws is unknown"
                                                                         : "no pair of samples was timed");
  comparison.ratio = paired;
  if (by_default > 0) comparison.default_ratio = by_default / ours;
  return comparison;
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
  nlohmann::json json{
      {"problem", to_string(result.problem)},
      {"mode", to_string(result.mode)},
      {"measure", to_string(result.measure)},
      {"power", to_string(result.power)},
      {"power_limit_w", known(result.power_limit_w)},
      {"ours", side_json(result.ours)},
      {"origin", result.origin},
      {"cublas_default", side_json(result.cublas_default)},
      {"best_lt", side_json(result.best_lt)},
      {"lt_algorithms", result.lt_algorithms},
      {"best_lt_algorithm", result.best_lt_algorithm},
      {"choice_kept_since", result.choice_kept_since > 0 ? nlohmann::json(result.choice_kept_since) : nlohmann::json()},
      {"bare", side_json(result.bare)},
      {"over_bare", result.over_bare},
      {"over_bare_ci", {result.over_bare_ci.low, result.over_bare_ci.high}},
      {"baseline", result.baseline},
      {"ratio", result.ratio},
      {"ci", {result.ci.low, result.ci.high}},
      {"tie", result.tie},
      {"ceiling_tflops", result.ceiling_tflops},
      {"of_ceiling", result.of_ceiling},
      {"of_ceiling_ci", {result.of_ceiling_ci.low, result.of_ceiling_ci.high}}};
  if (result.other) {
    const OtherMeasure& other = *result.other;
    json["other_measure"] = {{"measure", to_string(other.measure)},
                             {"ratio", other.ratio},
                             {"ci", {other.ci.low, other.ci.high}},
                             {"baseline", other.baseline}};
  }
  if (!result.failure.empty()) json["failure"] = result.failure;
  return json;
}

}  // namespace hotgemm
