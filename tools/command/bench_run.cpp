#include "command/bench_run.hpp"
#include "context_impl.hpp"

#include "command/fused_check.hpp"
#include "command/problem_options.hpp"
#include "config/class_key.hpp"
#include "config/work.hpp"
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
  if (has_nothing_to_measure(problem)) return {failed(problem, "there is nothing to measure")};
  try {
    const Plan plan = context_.plan(problem, policy_);
    std::optional<Plan> bare;
    if (problem.epilogue != Epilogue{}) bare = context_.plan(without_epilogue(problem), policy_);
    return measure_plan(plan, bare);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    if (error.code() == ErrorCode::no_compiler || error.code() == ErrorCode::compile_failed) has_failed_builds_ = true;
    return {failed(problem, error.what())};
  }
}

std::vector<BenchResult> BenchRun::measure_plan(const Plan& plan, const std::optional<Plan>& bare) {
  const Workload& problem = plan.problem();
  const float beta = problem.hints.beta_is_zero ? 0.0f : 1.0f;
  BenchOperands operands(driver_, context_, problem, device_.info().l2_bytes, scratch_bytes_);
  const std::span<const OperandSet> sets = operands.sets();
  if (const std::string wrong = check(plan, bare, operands); !wrong.empty()) {
    has_wrong_numbers_ = true;
    return {failed(problem, "wrong numbers from " + wrong)};
  }
  fill_normal(problem, operands);
  const Contender ours{plan.config(), [&plan, &operands, beta](CUstream on, int set) {
                         plan.launch(on, operands.operands(static_cast<std::size_t>(set), 1.0f, beta));
                       }};
  Contender without;
  BenchOptions options = options_;
  options.beta = beta;
  if (bare) {
    without = {bare->config(), [&bare, &operands, beta](CUstream on, int set) {
                 bare->launch(on, operands.bare_operands(static_cast<std::size_t>(set), 1.0f, beta));
               }};
    options.bare = &without;
  }
  std::optional<ForeignKernel> foreign;
  const auto is_programmatic = [](const Plan& p) { return PlanAccess::impl(p).choice().launch.programmatic; };
  if (is_programmatic(plan) || (bare && is_programmatic(*bare))) {
    foreign.emplace(driver_, device_.check_kernels(), stream_.get());
    options.ahead = foreign->launch();
  }
  std::vector<BenchResult> results =
      has_rival(problem, sets, beta)
          ? bench_in_all_modes(driver_, stream_.get(), ours, sets, problem, *cublas_, options)
          : race_ours(ours, sets, problem, options);
  for (BenchResult& result : results) {
    result.origin = std::string(to_string(plan.origin()));
    if (ceilings_.empty() || result.mode != TimingMode::eager || !result.failure.empty()) continue;
    if (!ceilings_.front().serves(problem)) continue;
    ceilings_.front().race(ours, static_cast<int>(sets.size()), options, stream_.get(), result);
  }
  return results;
}

/// The heuristics of cuBLASLt may return no algorithm on this GPU.
bool BenchRun::has_rival(const Workload& problem, std::span<const OperandSet> sets, float beta) {
  if (!cublas_ || !CublasBaseline::has_rival(problem)) return false;
  if (!CublasBaseline::is_lt_only(problem) || !cublas_->available()) return true;
  return !cublas_->lt_heuristics(with_uniform_groups(problem), sets, options_.alpha, beta).empty();
}

void BenchRun::fill_normal(const Workload& problem, BenchOperands& operands) {
  for (std::size_t i = 0; i < operands.sets().size(); ++i) {
    device_.check_kernels().fill_normal(problem, operands.sets()[i], static_cast<unsigned>(options_.seed * 31 + 3 * i),
                                        stream_.get());
    operands.pack(i, stream_.get());
  }
  stream_.synchronize();
}

std::string BenchRun::check(const Plan& plan, const std::optional<Plan>& bare, BenchOperands& operands) {
  const Workload& problem = plan.problem();
  const int beta = problem.hints.beta_is_zero ? 0 : 1;
  const auto seed = static_cast<unsigned>(options_.seed);
  const OperandSet& set = operands.sets().front();
  const CheckKernels& checks = device_.check_kernels();
  const Plan& exact = bare ? *bare : plan;
  checks.fill_check(problem, set, seed, stream_.get());
  operands.pack(0, stream_.get());
  exact.launch(stream_.get(), operands.bare_operands(0, 1.0f, static_cast<float>(beta)));
  if (std::string wrong = checks.check(problem, set, seed, 1, beta, stream_.get()); !wrong.empty()) {
    return exact.config() + ": " + wrong;
  }
  if (!bare) return {};
  const std::string wrong = check_fused(
      driver_, checks, problem, set, seed, stream_.get(),
      [&](float alpha, float beta_of_c) { plan.launch(stream_.get(), operands.operands(0, alpha, beta_of_c)); });
  return wrong.empty() ? wrong : plan.config() + " with its epilogue: " + wrong;
}

std::vector<BenchResult> BenchRun::race_ours(const Contender& ours, std::span<const OperandSet> sets,
                                             const Workload& problem, const BenchOptions& bench) {
  BenchOptions one = bench;
  std::vector<BenchResult> results{bench_alone(driver_, stream_.get(), ours, sets, problem, one)};
  if (!bench.mode && results.front().ours.median_us < kGraphBelowUs) {
    one.mode = TimingMode::graph;
    results.push_back(bench_alone(driver_, stream_.get(), ours, sets, problem, one));
  }
  return results;
}

}  // namespace hotgemm::command
