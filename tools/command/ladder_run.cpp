#include "command/ladder_run.hpp"

#include "config/traits.hpp"
#include "tune/exact_check.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

namespace hotgemm::command {
namespace {

constexpr std::size_t kSamples = 2;
constexpr std::string_view kInterruptedReason = "not timed: interrupted";

std::vector<double> numbers(const std::array<std::byte, 8>& bytes, std::size_t count, DType type) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(number_at(bytes.data(), i, type));
  return values;
}

/// A launch that the first time comes after `count` others.
Launch with_warm_up(Launch launch, int count) {
  return [launch = std::move(launch), left = count](CUstream stream, int set) mutable {
    for (; left > 0; --left) launch(stream, set);
    launch(stream, set);
  };
}

}  // namespace

/// A row with its prepared launch.
struct LadderRun::Runner {
  LadderRow* row = nullptr;
  Launch launch;
};

LadderRun::LadderRun(DeviceState& device, const LadderTiming& timing)
    : device_(device), driver_(device.driver()), timing_(timing), stream_(driver_) {}

void LadderRun::measure(std::vector<LadderRow>& rows, const Workload& problem,
                        const std::function<bool()>& is_cancelled) {
  try {
    measure_all(rows, problem, is_cancelled);
  } catch (const Error& error) {
    is_lost_ = error.code() == ErrorCode::context_lost;
    const auto has_failed = [](const LadderRow& row) { return row.outcome == LadderOutcome::failed; };
    const bool is_of_one = is_lost_ && std::ranges::any_of(rows, has_failed);
    const std::string reason =
        is_of_one ? "not timed: the CUDA context was lost" : std::string("failed: ") + error.what();
    for (LadderRow& row : rows) {
      if (row.goes_on() && row.us.empty()) row.end(LadderOutcome::failed, reason);
    }
  }
}

void LadderRun::measure_all(std::vector<LadderRow>& rows, const Workload& problem,
                            const std::function<bool()>& is_cancelled) {
  if (std::ranges::none_of(rows, &LadderRow::goes_on)) return;
  const OperandPool pool(driver_, problem, device_.info().l2_bytes, timing_.scratch_bytes);
  std::vector<Runner> runners = runners_of(rows, problem, pool);
  check(runners, problem, pool, is_cancelled);
  sample(runners, problem, pool);
  time(runners, pool, is_cancelled);
}

std::vector<LadderRun::Runner> LadderRun::runners_of(std::vector<LadderRow>& rows, const Workload& problem,
                                                     const OperandPool& pool) {
  std::vector<Runner> runners;
  for (LadderRow& row : rows) {
    if (!row.goes_on()) continue;
    try {
      runners.push_back(load(row, problem, pool));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      row.end(LadderOutcome::failed, std::string("failed: ") + error.what());
    }
  }
  return runners;
}

LadderRun::Runner LadderRun::load(LadderRow& row, const Workload& problem, const OperandPool& pool) {
  if (!row.is_ours()) return {&row, library_launch(problem, pool)};
  const auto kernel = std::make_shared<const GemmKernel>(
      load_gemm_kernel(driver_, *row.entry.config, traits_of(problem), *row.cubin, device_.info().sm_count));
  if (!kernel->shape.fits(problem.m, problem.n, problem.k))
    throw Error(ErrorCode::not_supported, to_string(problem) + " is too large for " + to_string(*row.entry.config));
  return {&row, [this, kernel, &row, &problem, &pool](CUstream stream, int set) {
            const OperandSet& operands = pool.sets()[static_cast<std::size_t>(set)];
            const float beta = problem.hints.beta_is_zero ? 0.0f : 1.0f;
            driver_.check(launch_gemm(driver_, *kernel, row.launch, problem.m, problem.n, problem.k,
                                      OperandPool::operands(operands, 1.0f, beta), stream),
                          "launch " + to_string(*row.entry.config));
          }};
}

Launch LadderRun::library_launch(const Workload& problem, const OperandPool& pool) {
  if (!cublas_) cublas_.emplace(driver_);
  if (!cublas_->available()) throw Error(ErrorCode::not_supported, "no cuBLAS: " + cublas_->why_not());
  return cublas_->default_gemm(problem, pool.sets(), 1.0f, problem.hints.beta_is_zero ? 0.0f : 1.0f).launch;
}

void LadderRun::check(std::vector<Runner>& runners, const Workload& problem, const OperandPool& pool,
                      const std::function<bool()>& is_cancelled) {
  const CheckKernels& checks = device_.check_kernels();
  for (Runner& runner : runners) {
    if (is_cancelled()) {
      runner.row->reason = kInterruptedReason;
      continue;
    }
    try {
      const std::string wrong = check_exactly(checks, problem, pool, static_cast<unsigned>(timing_.seed), stream_.get(),
                                              [&](const OperandSet&, CUstream stream) { runner.launch(stream, 0); });
      if (!wrong.empty()) runner.row->end(LadderOutcome::wrong, wrong);
    } catch (const Error& error) {
      runner.row->end(LadderOutcome::failed, std::string("failed: ") + error.what());
      if (error.code() == ErrorCode::context_lost) throw;
    }
  }
  std::erase_if(runners, [](const Runner& runner) { return !runner.row->goes_on(); });
}

void LadderRun::sample(std::vector<Runner>& runners, const Workload& problem, const OperandPool& pool) {
  for (std::size_t i = 0; i < pool.sets().size(); ++i) {
    device_.check_kernels().fill_normal(problem, pool.sets()[i], static_cast<unsigned>(timing_.seed * 31 + 3 * i),
                                        stream_.get());
  }
  const std::size_t count = std::min<std::size_t>(kSamples, static_cast<std::size_t>(problem.n));
  for (Runner& runner : runners) {
    std::array<std::byte, 8> bytes{};
    const std::size_t size = count * static_cast<std::size_t>(size_bytes(problem.types.d));
    runner.launch(stream_.get(), 0);
    driver_.check(driver_.cuMemcpyDtoHAsync(bytes.data(), pool.sets().front().d, size, stream_.get()),
                  "fetch the first elements of D");
    stream_.synchronize();
    runner.row->samples = numbers(bytes, count, problem.types.d);
    if (timing_.with_matrix) runner.row->corners = fetch_corners(driver_, stream_.get(), pool.sets().front(), problem);
  }
}

void LadderRun::time(std::vector<Runner>& runners, const OperandPool& pool, const std::function<bool()>& is_cancelled) {
  std::vector<Contender> contenders;
  for (const Runner& runner : runners)
    contenders.push_back({runner.row->entry.label, with_warm_up(runner.launch, timing_.warm_up_launches)});
  if (contenders.empty()) return;
  RaceOptions options;
  options.sets = static_cast<int>(pool.sets().size());
  options.rounds = timing_.rounds;
  options.round_us = timing_.round_us;
  if (timing_.launches > 0) {
    options.round_us = std::numeric_limits<double>::infinity();
    options.max_launches = timing_.launches;
  }
  options.seed = timing_.seed;
  options.is_cancelled = is_cancelled;
  RaceResult raced = race(driver_, stream_.get(), contenders, options);
  for (std::size_t i = 0; i < runners.size(); ++i) {
    LadderRow& row = *runners[i].row;
    const bool was_stopped = raced.rounds_done == 0 && is_cancelled();
    if (was_stopped) {
      row.reason = kInterruptedReason;
    } else if (!raced.failures[i].empty()) {
      row.end(LadderOutcome::failed, "failed: " + raced.failures[i]);
    } else {
      row.us = std::move(raced.us[i]);
    }
  }
}

}  // namespace hotgemm::command
