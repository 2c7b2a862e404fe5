#include "context_impl.hpp"
#include "runtime/validate_operands.hpp"

#include <hotgemm/error.hpp>

// Calls for programs that have another product to fall back on: they run what is ready, or decline.

namespace hotgemm {
namespace {

/// The least ratio of cuBLAS's time to the kernel's that counts as being as fast: two measurements differ by 1 %.
constexpr double kAsFast = 0.99;

bool meets(const Choice& choice, const Demands& demands) {
  if (demands.tuned && choice.origin != Origin::tuned && choice.origin != Origin::pinned) return false;
  return !demands.as_fast || choice.cublas_ratio >= kAsFast;
}

}  // namespace

bool Context::try_gemm(Stream stream, const Problem& asked, const Operands& operands, const Demands& demands) {
  if (!has_known_size(operands)) return try_gemm(stream, asked, known_operands(operands), demands);
  if (!is_to_launch(asked, operands)) return true;
  const Impl::Call call(*impl_, stream, asked, operands);
  bool is_current = false, is_served = false;
  {
    const ReadGuard reading;
    const PlanTable::Slot* slot = call.device.plans().find(call.key);
    is_current = slot != nullptr && !slot->is_outdated;
    is_served = slot != nullptr && meets(slot->entry.plan->choice(), demands);
    // A graph would keep an interim kernel.
    if (is_served && slot->entry.is_interim && is_capturing(call.device.driver(), stream)) is_served = false;
    if (is_served) {
      slot->entry.plan->launch(stream, call.problem, operands);
    } else if (slot != nullptr) {
      slot->entry.plan->count_use();  // measuring may let the next calls be served
    }
  }
  if (!is_current && demands.prepare_later) impl_->background().prepare_later(call.device, call.problem, demands);
  if (!is_served) impl_->engine().counters.declined.add_one();
  return is_served;
}

bool Context::Impl::prepare(const BackgroundTuner::Waiting& waiting) {
  DeviceState& device = *waiting.device;
  if (pinned_.contains(class_key(waiting.problem))) {
    if (waiting.demands.as_fast) return false;  // no record says so of what is pinned
  } else {
    const Affordable affordable = affordable_choices(device, waiting.problem);
    if (affordable.choices.empty() || !meets(affordable.choices.front(), waiting.demands)) return false;
  }
  // This is no call of the program's, so it does not measure.
  const Policy policy = options_.policy == Policy::tune ? Policy::estimate : options_.policy;
  find_or_plan(device, waiting.problem, policy, nullptr, Reserve::again);
  return true;
}

}  // namespace hotgemm
