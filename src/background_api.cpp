#include "context_impl.hpp"

namespace hotgemm {

bool Context::refresh(Plan& plan) {
  DeviceState* device = impl_->find_state(plan.impl_->context_id());
  if (device == nullptr) return false;
  std::optional<PlanEntry> known = device->plans().get(class_key(plan.problem()));
  if (!known || known->is_interim || known->plan == plan.impl_) return false;
  plan.impl_ = std::move(known->plan);
  return true;
}

bool Context::wait_tuned(std::chrono::steady_clock::time_point deadline) { return impl_->background().wait(deadline); }

void Context::pause_tuning() { impl_->tuning_control().pause(); }

void Context::resume_tuning() {
  impl_->tuning_control().resume();
  impl_->background().wake();
}

}  // namespace hotgemm
