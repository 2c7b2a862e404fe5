#include "config/work.hpp"
#include "context_impl.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <utility>

namespace hotgemm {

ForgetReport Context::forget(const Workload& problem, Forget what) {
  validate(problem);
  const ClassKey key = class_key(problem);
  impl_->pinned().erase(key);
  impl_->background().retry_preparing();
  Database::Forgotten records;
  const auto erase_plans = [&] {
    std::size_t plans = 0;
    impl_->for_each_device([&](DeviceState& device) {
      const ClassFlights::Flight flight = device.planning().wait_for(key, impl_->engine().counters.waiting);
      plans += device.plans().erase(key) ? 1 : 0;
    });
    return plans;
  };
  try {
    if (what == Forget::plan_and_records) records = impl_->engine().database.forget(problem);
  } catch (const Error&) {
    erase_plans();
    throw;
  }
  return {.plans = erase_plans(), .records = records.records, .segments_in_use = records.segments_in_use};
}

void Context::pin(const Workload& problem, std::string_view config, std::string_view launch) {
  if (config.empty()) {
    forget(problem);
    return;
  }
  validate(problem);
  if (is_empty(problem)) {
    throw Error(ErrorCode::invalid_argument, "there is nothing to pin in " + to_string(problem));
  }
  const PinnedConfig pinned = parse_pinned(config, launch);
  impl_->pin(impl_->current(), problem, pinned);
}

void Context::Impl::pin(DeviceState& current, const Workload& problem, const PinnedConfig& pinned) {
  for_each_device([&](DeviceState& device) { pinned_for(device, problem, pinned); });  // throws if it cannot run there
  std::shared_ptr<const PlanImpl> plan = plan_pinned(current, problem, pinned, options_.policy);
  set_workspace_apart(current, *plan);
  const ClassKey key = class_key(problem);
  pinned_.set(key, pinned);
  for_each_device([&](DeviceState& device) {
    const ClassFlights::Flight flight = device.planning().wait_for(key, engine_.counters.waiting);
    if (&device == &current) {
      device.plans().insert(key, {.plan = std::move(plan), .is_kept = true});
    } else {
      device.plans().erase(key);
    }
  });
}

Choice Context::Impl::pinned_for(const DeviceState& device, const Workload& problem, const PinnedConfig& pinned) const {
  return pinned_choice(problem, pinned, device.info().arch, device.info().sm_count, engine_.workspace_of,
                       engine_.workspace.cap_bytes());
}

std::shared_ptr<const PlanImpl> Context::Impl::plan_pinned(DeviceState& device, const Workload& problem,
                                                           const PinnedConfig& pinned, Policy policy) {
  const Choice choice = pinned_for(device, problem, pinned);
  const bool needs_workspace = !engine_.workspace_of(choice.config, choice.launch, problem).is_empty();
  const Affordable others = needs_workspace ? affordable_choices(device, problem) : Affordable{};
  return make_plan(device, problem, choice, cubin_of(device, problem, choice, policy), {others.choices, {}}, policy);
}

}  // namespace hotgemm
