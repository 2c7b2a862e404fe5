#include "base/callback_guard.hpp"
#include "base/moment.hpp"
#include "config/group_sizes.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "context_impl.hpp"
#include "runtime/validate.hpp"
#include "tune/tune_options.hpp"

#include <hotgemm/error.hpp>

#include <chrono>

namespace hotgemm {
namespace {

double tflops_of(const Workload& p, double us) { return us > 0 ? timed_flops(p) / us * 1e-6 : 0; }

void fill_from_record(const TuningRecord& record, TuneResult& result) {
  result.config = to_string(record.config);
  result.launch = to_string(record.launch);
  result.median_us = record.timing.median_us;
  result.tflops = tflops_of(record.problem, record.timing.median_us);
}

/// True if the search behind the record was disturbed, or had no time for its final comparison. A search within this
/// process can finish it; one that is provisional because of the power cap it cannot.
bool is_unfinished(const TuningRecord& record, const TuneOptions& options) {
  if (record.cause == ProvisionalCause::disturbed) return true;
  return record.is_provisional && record.timing.samples < options.rounds;
}

TuneResult tune_one(DeviceState& device, TuningPlace& place, const Workload& problem, const TuneOptions& options,
                    bool retune, const std::function<bool()>& is_cancelled) {
  const auto start = std::chrono::steady_clock::now();
  TuneResult result{.problem = problem};
  validate(problem);
  if (has_nothing_to_measure(problem)) {
    throw Error(ErrorCode::invalid_argument, "there is nothing to tune in " + to_string(problem));
  }
  GpuQuery query = device.query();
  query.objective = Objective::speed;  // a record for energy is no answer
  const auto found = device.engine().database.find(problem, query);
  if (found && !retune && !is_unfinished(found->record, options) && found->freshness == Freshness::current &&
      found->record.objective == Objective::speed) {
    result.was_recorded = true;
    fill_from_record(found->record, result);
  } else {
    const TuneOutcome outcome = tune_problem(device, problem, options, place.measurer(device, options), is_cancelled);
    fill_from_record(*outcome.record, result);
    result.measured = outcome.measured;
    for (const Candidate& c : outcome.candidates) {
      if (c.reason.empty()) continue;
      result.rejections.push_back({to_string(c.config), std::string(to_string(c.stage)), c.reason});
    }
  }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace

void Context::cancel_tuning() { impl_->tuning_control().cancel(); }

std::vector<TuneResult> Context::tune(std::span<const Workload> problems, const TuneOptions& options, bool retune,
                                      const std::function<bool(const TuneResult&)>& progress) {
  validate(options);
  DeviceState& device = impl_->current();
  std::vector<TuneResult> results;
  CallbackGuard callbacks;
  const TuningControl& control = impl_->tuning_control();
  const auto is_cancelled = [&control, before = control.generation()] { return control.generation() != before; };
  for (const Workload& problem : problems) {
    try {
      results.push_back(tune_one(device, impl_->tuning_place(), problem, options, retune, is_cancelled));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      results.push_back({.problem = problem, .failure = error.what(), .failure_code = error.code()});
    }
    if (results.back().failure.empty()) impl_->replace_plans_of(problem);
    impl_->background().retry_preparing();
    if (progress && !callbacks.run(false, [&] { return progress(results.back()); })) break;
    if (is_cancelled()) break;
  }
  callbacks.rethrow();
  return results;
}

}  // namespace hotgemm
