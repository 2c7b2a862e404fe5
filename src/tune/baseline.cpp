#include "tune/baseline.hpp"

#include "base/statistics.hpp"

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

std::vector<Contender> picked(const std::vector<Contender>& all, const std::vector<std::size_t>& indices) {
  std::vector<Contender> some;
  for (const std::size_t i : indices) some.push_back(all[i]);
  return some;
}

/// The best of each kind. `order` are indices in `all`, fastest first; all[0] is cuBLAS's default.
Baseline baseline_of(const std::vector<Contender>& all, const std::vector<std::size_t>& order) {
  Baseline baseline;
  for (const std::size_t index : order) {  // the first of each kind is its best
    if (index == 0) {
      baseline.cublas_default = all[0];
    } else if (!baseline.best_lt) {
      baseline.best_lt = all[index];
      baseline.lt_is_faster = !baseline.cublas_default;
    }
  }
  return baseline;
}

/// Runs a block of each of `indices`. Returns those that ran, fastest first.
std::vector<std::size_t> order_by_blocks(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                                         const std::vector<std::size_t>& indices, RaceOptions options,
                                         const BlockLengths& lengths) {
  options.rounds = 1;
  options.blocks = lengths;
  const RaceResult result = race(driver, stream, picked(all, indices), options);
  std::vector<std::size_t> order;
  for (const std::size_t place : ranking(result)) order.push_back(indices[place]);
  if (order.empty()) throw Error(ErrorCode::not_supported, "cuBLAS could not run: " + result.failures[0]);
  return order;
}

}  // namespace

std::vector<Contender> all_of_cublas(CublasBaseline& cublas, const Workload& problem, std::span<const OperandSet> sets,
                                     float alpha, float beta) {
  std::vector<Contender> all{cublas.default_gemm(problem, sets, alpha, beta)};
  for (Contender& contender : cublas.lt_heuristics(problem, sets, alpha, beta)) all.push_back(std::move(contender));
  return all;
}

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

std::vector<std::size_t> screen(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
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
  return order;
}

Baseline baseline_by_rounds(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                            const std::vector<std::size_t>& finalists, const RaceOptions& options) {
  RaceOptions playoff = options;
  playoff.rounds = kPlayoffRounds;
  playoff.seed += 2;
  const RaceResult raced = race(driver, stream, picked(all, finalists), playoff);
  std::vector<std::size_t> order;
  for (const std::size_t place : ranking(raced)) order.push_back(finalists[place]);
  if (order.empty()) throw Error(ErrorCode::not_supported, "cuBLAS could not run: " + raced.failures[0]);
  return baseline_of(all, order);
}

Baseline baseline_by_blocks(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                            const std::vector<std::size_t>& finalists, const RaceOptions& options, double load_s) {
  // One block of full length for each of a few: shorter blocks of more would drop the best by noise.
  std::vector<std::size_t> few = finalists;
  if (few.size() > kBlockFinalists) {  // without the slowest, but with cuBLAS's default, the last of them
    few.erase(few.begin() + (kBlockFinalists - 1), few.end() - 1);
  }
  BlockLengths lengths = choice_lengths();
  lengths.load_s = load_s;
  return baseline_of(all, order_by_blocks(driver, stream, all, few, options, lengths));
}

}  // namespace hotgemm
