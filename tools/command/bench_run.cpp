#include "command/bench_run.hpp"
#include "context_impl.hpp"

#include "base/statistics.hpp"
#include "command/problem_options.hpp"
#include "gpu/foreign_kernel.hpp"
#include "runtime/plan_impl.hpp"

#include <optional>
#include <string>

namespace hotgemm::command {
namespace {

BenchResult failed(const Workload& problem, std::string failure) {
  BenchResult result;
  result.problem = problem;
  result.failure = std::move(failure);
  return result;
}

}  // namespace

BenchRun::BenchRun(const Driver& driver, Context& context, Policy policy, const BenchOptions& options,
                   std::int64_t scratch_bytes, bool with_baseline)
    : driver_(driver),
      context_(context),
      device_(impl_of(context).current()),
      policy_(policy),
      options_(options),
      scratch_bytes_(scratch_bytes),
      stream_(driver) {
  options_.device = device_.info_with_clocks();
  options_.kept.choices = &impl_of(context).engine().cublas_choices;
  options_.kept.gpu = device_.info().name;
  if (!with_baseline) return;
  cublas_.emplace(driver);
  if (!cublas_->available()) {
    throw Error(ErrorCode::io_error,
                "no cuBLAS to compare with (use --no-baseline to run without it): " + cublas_->why_not());
  }
}

void BenchRun::add_ceilings() {
  for (const CeilingInstruction instruction : Ceiling::instructions(device_))
    ceilings_.emplace_back(device_, instruction);
}

std::string BenchRun::baseline_version() const { return cublas_ ? cublas_->version() : "not used"; }

std::vector<BenchResult> BenchRun::measure(const Workload& problem) {
  if (problem.m == 0 || problem.n == 0 || problem.k == 0) return {failed(problem, "there is nothing to measure")};
  try {
    return measure_plan(context_.plan(problem, policy_));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    if (error.code() == ErrorCode::no_compiler || error.code() == ErrorCode::compile_failed) has_failed_builds_ = true;
    return {failed(problem, error.what())};
  }
}

std::vector<BenchResult> BenchRun::measure_plan(const Plan& plan) {
  const Workload& problem = plan.problem();
  const float beta = problem.hints.beta_is_zero ? 0.0f : 1.0f;
  BenchOperands operands(driver_, context_, problem, device_.info().l2_bytes, scratch_bytes_);
  const std::span<const OperandSet> sets = operands.sets();
  if (const std::string wrong = check(plan, operands); !wrong.empty()) {
    has_wrong_numbers_ = true;
    return {failed(problem, "wrong numbers from " + plan.config() + ": " + wrong)};
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    device_.check_kernels().fill_normal(problem, sets[i], static_cast<unsigned>(options_.seed * 31 + 3 * i),
                                        stream_.get());
    operands.pack(i, stream_.get());
  }
  stream_.synchronize();
  const Contender ours{plan.config(), [&plan, &operands, beta](CUstream on, int set) {
                         plan.launch(on, operands.operands(static_cast<std::size_t>(set), 1.0f, beta));
                       }};
  BenchOptions options = options_;
  options.beta = beta;
  std::optional<ForeignKernel> foreign;
  if (PlanAccess::impl(plan).choice().launch.programmatic) {
    foreign.emplace(driver_, device_.check_kernels(), stream_.get());
    options.ahead = foreign->launch();
  }
  // The heuristics of cuBLASLt may return no algorithm on this GPU.
  const bool has_rival = cublas_ && CublasBaseline::has_rival(problem) &&
                         !(CublasBaseline::is_lt_only(problem) && cublas_->available() &&
                           cublas_->lt_heuristics(problem, sets, options.alpha, beta).empty());
  std::vector<BenchResult> results =
      has_rival ? bench_in_all_modes(driver_, stream_.get(), ours, sets, problem, *cublas_, options)
                : race_ours(ours, sets, problem, options);
  for (BenchResult& result : results) {
    result.origin = std::string(to_string(plan.origin()));
    const bool is_comparable = has_ceiling(problem.types.a) && result.mode == TimingMode::eager;
    if (ceilings_.empty() || !is_comparable || !result.failure.empty()) continue;
    ceilings_.front().race(ours, static_cast<int>(sets.size()), options, stream_.get(), result);
  }
  return results;
}

std::string BenchRun::check(const Plan& plan, BenchOperands& operands) {
  const Workload& problem = plan.problem();
  const int beta = problem.hints.beta_is_zero ? 0 : 1;
  const auto seed = static_cast<unsigned>(options_.seed);
  device_.check_kernels().fill_check(problem, operands.sets().front(), seed, stream_.get());
  operands.pack(0, stream_.get());
  plan.launch(stream_.get(), operands.operands(0, 1.0f, static_cast<float>(beta)));
  return device_.check_kernels().check(problem, operands.sets().front(), seed, 1, beta, stream_.get());
}

std::vector<BenchResult> BenchRun::race_ours(const Contender& ours, std::span<const OperandSet> sets,
                                             const Workload& problem, const BenchOptions& bench) {
  std::vector<BenchResult> results{race_ours_in(bench.mode.value_or(TimingMode::eager), ours, sets, problem, bench)};
  if (!bench.mode && results.front().ours.median_us < kGraphBelowUs) {
    results.push_back(race_ours_in(TimingMode::graph, ours, sets, problem, bench));
  }
  return results;
}

BenchResult BenchRun::race_ours_in(TimingMode mode, const Contender& ours, std::span<const OperandSet> sets,
                                   const Workload& problem, const BenchOptions& bench) {
  const bool by_blocks = bench.measure == Measure::sustained;
  RaceOptions options;
  options.mode = mode;
  options.sets = static_cast<int>(sets.size());
  options.rounds = by_blocks ? bench.pairs : bench.rounds;
  options.round_us = bench.round_us;
  options.seed = bench.seed;
  options.ahead = bench.ahead;
  if (by_blocks) options.blocks = BlockLengths{.load_s = kLoadS};
  const RaceResult raced = race(driver_, stream_.get(), std::span(&ours, 1), options);
  if (!raced.failures.front().empty()) return failed(problem, raced.failures.front());
  BenchResult result;
  result.problem = problem;
  result.mode = mode;
  result.measure = by_blocks ? Measure::sustained : bench.ahead ? Measure::behind : Measure::rounds;
  result.power_limit_w = raced.power_limit_w;
  result.ours = make_side(ours.name, problem, raced, 0);
  return result;
}

}  // namespace hotgemm::command
