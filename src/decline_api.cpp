#include "config/work.hpp"
#include "context_impl.hpp"
#include "runtime/validate.hpp"
#include "runtime/validate_operands.hpp"

#include <hotgemm/error.hpp>

// Calls for programs that have another product to fall back on: they run what is ready, or decline.

namespace hotgemm {
namespace {

bool meets(const Choice& choice, const Demands& demands) {
  if (demands.tuned && choice.origin != Origin::tuned && choice.origin != Origin::pinned) return false;
  return !demands.faster || choice.cublas_ratio > 1;
}

}  // namespace

bool Context::try_gemm(Stream stream, const Problem& asked, const Operands& operands, const Demands& demands) {
  if (!has_known_size(operands)) return try_gemm(stream, asked, known_operands(operands), demands);
  validate(asked);
  validate(asked, operands);
  if (is_empty(asked)) return true;
  const Workload problem = describe(asked, operands);
  PushedContext pushed(Impl::driver());
  DeviceState& device = impl_->current(stream, pushed);
  const ClassKey key = class_key(problem);
  if (ProblemLog* const problems = impl_->engine().problem_log.get()) problems->add(key, problem);
  bool has_plan = false;
  {
    const ReadGuard reading;
    const PlanTable::Slot* slot = device.plans().find(key);
    has_plan = slot != nullptr;
    if (has_plan && meets(slot->entry.plan->choice(), demands)) {
      slot->entry.plan->launch(stream, problem, operands);
      return true;
    }
  }
  if (!has_plan && demands.prepare_later) impl_->background().prepare_later(device, problem, demands);
  impl_->engine().counters.declined.add_one();
  return false;
}

bool Context::Impl::prepare(const BackgroundTuner::Waiting& waiting) {
  DeviceState& device = *waiting.device;
  if (!pinned_.find(class_key(waiting.problem))) {
    const Affordable affordable = affordable_choices(device, waiting.problem);
    if (affordable.choices.empty() || !meets(affordable.choices.front(), waiting.demands)) return false;
  }
  // This is no call of the program's, so it does not measure.
  const Policy policy = options_.policy == Policy::tune ? Policy::estimate : options_.policy;
  find_or_plan(device, waiting.problem, policy, nullptr, Reserve::again);
  return true;
}

}  // namespace hotgemm
