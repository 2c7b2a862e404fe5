#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "context_impl.hpp"

#include <hotgemm/error.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace hotgemm {

std::size_t Context::reload() {
  Engine& engine = impl_->engine();
  engine.database.reload();
  engine.rejections.reload();
  engine.vetted.reload();
  impl_->background().retry_preparing();
  std::size_t changed = 0;
  impl_->for_each_device([&](DeviceState& device) {
    for (const ClassKey& key : device.plans().keys()) {
      changed += impl_->mark_if_outdated(device, key) == Impl::Outdated::in_kernel ? 1 : 0;
    }
  });
  impl_->replace_outdated_here();
  return changed;
}

void Context::Impl::replace_plans_of(const Workload& problem) {
  const ClassKey bare = without_epilogue(class_key(problem));  // its record may serve a product with scales, too
  DeviceState& here = current();
  for_each_device([&](DeviceState& device) {
    for (const ClassKey& key : device.plans().keys()) {
      if (!(without_epilogue(key) == bare)) continue;
      mark_if_outdated(device, key);
      const std::optional<PlanEntry> known = device.plans().get(key, false);
      if (&device != &here || !known || !known->is_outdated) continue;
      replace_outdated(here, key == class_key(problem) ? problem : workload_of(key), key, options_.policy);
    }
  });
}

void Context::Impl::insert(DeviceState& device, const ClassKey& key, PlanEntry entry, std::uint64_t reloads) {
  device.plans().insert(key, std::move(entry));
  if (engine_.database.reloads() != reloads) mark_if_outdated(device, key);
}

Context::Impl::Outdated Context::Impl::mark_if_outdated(DeviceState& device, const ClassKey& key) {
  const std::optional<PlanEntry> known = device.plans().get(key, false);
  if (!known || known->is_kept || known->is_outdated || known->is_interim) return Outdated::no;
  const Choice& present = known->plan->choice();
  Outdated outdated = Outdated::in_kernel;
  try {
    const Affordable best = affordable_choices(device, workload_of(key));
    if (best.choices.empty()) return Outdated::no;
    const Choice& choice = best.choices.front();
    if (choice.config == present.config && choice.launch == present.launch) {
      // Calls may demand a kernel that was measured, or that is as fast as cuBLAS's.
      const bool is_same = (choice.origin == Origin::tuned) == (present.origin == Origin::tuned) &&
                           choice.cublas_ratio == present.cublas_ratio;
      if (is_same) return Outdated::no;
      outdated = Outdated::in_origin;
    }
  } catch (const Error& error) {  // the class keeps the plan that it has
    log(LogLevel::debug, "no other plan for " + to_string(workload_of(key)) + ": " + error.what());
    return Outdated::no;
  }
  device.plans().mark_outdated(key, known->plan.get());
  return outdated;
}

void Context::Impl::replace_outdated_here() {
  unsigned long long id = 0;
  if (devices_.load() == nullptr || has_lost_cuda() || driver().cuCtxGetId(nullptr, &id) != CUDA_SUCCESS) return;
  for_each_device([&](DeviceState& device) {
    if (device.context_id() != id) return;
    for (const ClassKey& key : device.plans().keys()) {
      const std::optional<PlanEntry> known = device.plans().get(key, false);
      if (known && known->is_outdated) replace_outdated(device, workload_of(key), key, options_.policy);
    }
  });
}

std::shared_ptr<const PlanImpl> Context::Impl::replace_outdated(DeviceState& device, const Workload& problem,
                                                                const ClassKey& key, Policy policy) {
  const ClassFlights::Flight flight = device.planning().try_take(key);
  std::optional<PlanEntry> known = device.plans().get(key);
  if (!known) return nullptr;
  if (!flight || !known->is_outdated) return known->plan;  // another thread replaces it, or has done so
  const WaitTimer timer(engine_.counters.planning);
  const std::uint64_t reloads = engine_.database.reloads();
  known->is_outdated = false;
  try {
    std::shared_ptr<const PlanImpl> plan = plan_without_measuring(device, problem, policy);
    set_workspace_apart(device, *plan);
    if (!(plan->choice() == known->plan->choice())) known->plan = std::move(plan);  // a better choice may spill here
    known->is_provisional = known->is_provisional && is_tunable(device, problem);
    known->is_unreserved = false;
    if (known->is_provisional) tune_later(device, problem, known->plan, policy);
    log(LogLevel::info, "planned " + to_string(problem) + " anew in " + to_ms(timer.elapsed()) + ": " +
                            to_string(known->plan->choice()));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    log(LogLevel::warn, to_string(problem) + " keeps its plan, although the records name another: " + error.what());
  }
  insert(device, key, *known, reloads);
  return known->plan;
}

}  // namespace hotgemm
