#include "tune/baseline.hpp"

#include "base/statistics.hpp"
#include "config/work.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kScreenRatio = 1.35;  // the screen drops a baseline that is slower than the best by this factor
constexpr int kScreenRounds = 3;
constexpr double kScreenRoundUs = 1000;
constexpr std::size_t kFinalists = 8;  // several, because the fastest of a screen may just have been lucky
constexpr int kPlayoffRounds = 7;
constexpr std::size_t kBlockFinalists = 7;  // with cuBLAS's default; their blocks take 8 s

[[noreturn]] void fail_without_baseline(const RaceResult& raced) {
  throw Error(ErrorCode::not_supported, "cuBLAS could not run: " + raced.failures[0]);
}

}  // namespace

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

BaselineChooser::BaselineChooser(const Driver& driver, CUstream stream, CublasBaseline& cublas, const Workload& problem,
                                 std::span<const OperandSet> sets, float alpha, float beta, KeptChoices kept)
    : driver_(driver),
      stream_(stream),
      cublas_(cublas),
      problem_(with_uniform_groups(problem)),
      sets_(sets),
      alpha_(alpha),
      beta_(beta),
      kept_(std::move(kept)),
      default_(cublas.default_gemm(problem_, sets, alpha, beta)) {}

Baseline BaselineChooser::by_rounds(const RaceOptions& options) {
  const CublasChoiceKey key = key_of(options.ahead ? Measure::behind : Measure::rounds, options.mode);
  if (std::optional<Baseline> kept = kept_for(key)) return *std::move(kept);
  const std::vector<std::size_t>& few = finalists(options);
  RaceOptions playoff = options;
  playoff.rounds = kPlayoffRounds;
  playoff.seed += 2;
  return keep(key, baseline_of(race_of(few, playoff), few));
}

Baseline BaselineChooser::by_blocks(const RaceOptions& options, double load_s) {
  const CublasChoiceKey key = key_of(Measure::sustained, options.mode);
  if (std::optional<Baseline> kept = kept_for(key)) return *std::move(kept);
  // One block of full length for each of a few: shorter blocks of more would drop the best by noise.
  std::vector<std::size_t> few = finalists(options);
  if (few.size() > kBlockFinalists) {  // without the slowest, but with cuBLAS's default, the last of them if it ran
    const std::ptrdiff_t kept_last = few.back() == 0 ? 1 : 0;
    few.erase(few.begin() + static_cast<std::ptrdiff_t>(kBlockFinalists) - kept_last, few.end() - kept_last);
  }
  RaceOptions blocks = options;
  blocks.rounds = 1;
  blocks.blocks = choice_lengths();
  blocks.blocks->load_s = load_s;
  return keep(key, baseline_of(race_of(few, blocks), few));
}

CublasChoiceKey BaselineChooser::key_of(Measure measure, TimingMode mode) const {
  return {.version = cublas_.version(),
          .gpu = kept_.gpu,
          .measure = std::string(to_string(measure)) + " " + std::string(to_string(mode)),
          .problem = problem_};
}

std::optional<Baseline> BaselineChooser::kept_for(const CublasChoiceKey& key) {
  if (kept_.choices == nullptr || kept_.afresh) return std::nullopt;
  const std::optional<CublasChoice> choice = kept_.choices->find(key);
  if (!choice) return std::nullopt;
  Baseline baseline{.lt_is_faster = choice->lt_is_faster, .kept_since = choice->time};
  if (choice->has_default) baseline.cublas_default = default_;
  if (choice->algorithm.empty()) return baseline;
  baseline.best_lt = cublas_.lt_algorithm(problem_, sets_, alpha_, beta_, choice->algorithm, choice->name);
  return baseline.best_lt ? std::optional(std::move(baseline)) : std::nullopt;  // refused: choose again
}

Baseline BaselineChooser::keep(const CublasChoiceKey& key, Baseline baseline) {
  if (kept_.choices == nullptr) return baseline;
  CublasChoice choice{.has_default = baseline.cublas_default.has_value(), .lt_is_faster = baseline.lt_is_faster};
  if (baseline.best_lt) {
    choice.algorithm = baseline.best_lt->algorithm;
    choice.name = baseline.best_lt->contender.name;
  }
  kept_.choices->keep(key, std::move(choice));
  return baseline;
}

const std::vector<std::size_t>& BaselineChooser::finalists(const RaceOptions& options) {
  if (!finalists_.empty()) return finalists_;
  all_ = {{default_, {}}};
  for (CublasContender& one : cublas_.lt_heuristics(problem_, sets_, alpha_, beta_)) all_.push_back(std::move(one));
  std::vector<std::size_t> indices(all_.size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  RaceOptions screen = options;
  screen.rounds = kScreenRounds;
  screen.round_us = std::min(options.round_us, kScreenRoundUs);
  screen.seed += 1;
  screen.abandon_ratio = kScreenRatio;
  const RaceResult screened = race_of(indices, screen);
  std::vector<std::size_t> order = ranking(screened);
  std::erase(order, std::size_t{0});
  if (order.size() > kFinalists) order.resize(kFinalists);
  if (screened.failures[0].empty()) order.push_back(0);
  if (order.empty()) fail_without_baseline(screened);
  finalists_ = std::move(order);
  return finalists_;
}

RaceResult BaselineChooser::race_of(const std::vector<std::size_t>& indices, const RaceOptions& options) const {
  std::vector<Contender> contenders;
  for (const std::size_t i : indices) contenders.push_back(all_[i].contender);
  return race(driver_, stream_, contenders, options);
}

Baseline BaselineChooser::baseline_of(const RaceResult& raced, const std::vector<std::size_t>& indices) const {
  const std::vector<std::size_t> order = ranking(raced);
  if (order.empty()) fail_without_baseline(raced);
  Baseline baseline;
  for (const std::size_t place : order) {  // the first of each kind is its best
    const std::size_t index = indices[place];
    if (index == 0) {
      baseline.cublas_default = default_;
    } else if (!baseline.best_lt) {
      baseline.best_lt = all_[index];
      baseline.lt_is_faster = !baseline.cublas_default;
    }
  }
  return baseline;
}

}  // namespace hotgemm
