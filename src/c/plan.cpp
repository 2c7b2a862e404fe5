#include "c/call.hpp"
#include "c/handles.hpp"
#include "c/problem.hpp"
#include "c/text.hpp"

#include <memory>
#include <string>
#include <utility>

using namespace hotgemm;
using c::context_of;
using c::done;
using c::required;

namespace {

static_assert(HOTGEMM_BACKGROUND == static_cast<int>(Policy::background));
static_assert(HOTGEMM_ORIGIN_PINNED == static_cast<int>(Origin::pinned));

bool is_policy(hotgemm_policy policy) { return policy >= HOTGEMM_CACHED_ONLY && policy <= HOTGEMM_BACKGROUND; }

}  // namespace

hotgemm_status hotgemm_plan_create(hotgemm_context* context, const hotgemm_problem* problem,
                                   const hotgemm_operands* operands, hotgemm_policy policy, hotgemm_stream stream,
                                   const hotgemm_call* call, hotgemm_plan** plan) {
  return done(call, [&] {
    hotgemm_plan*& handle = required(plan, "plan");
    handle = nullptr;
    Context& its_context = context_of(context);
    const Workload workload = c::workload_of(problem, operands);
    if (policy != HOTGEMM_POLICY_OF_CONTEXT && !is_policy(policy)) {
      throw Error(ErrorCode::invalid_argument, "policy is " + std::to_string(policy) + ", which does not exist");
    }
    const c::Call its_call(call);
    const Policy its_policy = policy == HOTGEMM_POLICY_OF_CONTEXT ? its_context.policy() : static_cast<Policy>(policy);
    handle = new hotgemm_plan{its_context.plan(workload, its_policy, stream)};
  });
}

void hotgemm_plan_destroy(hotgemm_plan* plan) { delete plan; }

hotgemm_status hotgemm_plan_launch(const hotgemm_plan* plan, const hotgemm_operands* operands, hotgemm_stream stream,
                                   const hotgemm_call* call) {
  return done(call, [&] {
    const Plan& its_plan = required(plan, "plan").plan;
    const Operands& its_operands = c::operands_of(operands);
    const c::Call its_call(call);
    its_plan.launch(stream, its_operands);
  });
}

hotgemm_status hotgemm_plan_refresh(hotgemm_context* context, hotgemm_plan* plan, int32_t* replaced) {
  return done(nullptr, [&] {
    const bool is_replaced = context_of(context).refresh(required(plan, "plan").plan);
    if (replaced != nullptr) *replaced = is_replaced ? 1 : 0;
  });
}

hotgemm_status hotgemm_plan_get_facts(const hotgemm_plan* plan, hotgemm_plan_facts* facts) {
  return done(nullptr, [&] {
    const Plan& its_plan = required(plan, "plan").plan;
    const Resources resources = its_plan.resources();
    const hotgemm_plan_facts filled{.size = sizeof(hotgemm_plan_facts),
                                    .origin = static_cast<std::int32_t>(its_plan.origin()),
                                    .registers = resources.registers,
                                    .spill_bytes = resources.spill_bytes,
                                    .smem_bytes = resources.smem_bytes,
                                    .threads = resources.threads,
                                    .reserved = 0,
                                    .compile_ms = resources.compile_ms,
                                    .distance = its_plan.distance(),
                                    .cublas_ratio = its_plan.cublas_ratio(),
                                    .workspace_bytes = its_plan.workspace_bytes()};
    c::give(required(facts, "facts"), filled, "facts");
  });
}

hotgemm_status hotgemm_plan_config(const hotgemm_plan* plan, char* buffer, size_t size, size_t* length) {
  return done(nullptr, [&] { c::give_text(required(plan, "plan").plan.config(), buffer, size, length); });
}

hotgemm_status hotgemm_plan_explain(const hotgemm_plan* plan, char* buffer, size_t size, size_t* length) {
  return done(nullptr, [&] { c::give_text(required(plan, "plan").plan.explain(), buffer, size, length); });
}

hotgemm_status hotgemm_pin(hotgemm_context* context, const hotgemm_problem* problem, const hotgemm_operands* operands,
                           const char* config, const char* launch, const hotgemm_call* call) {
  return done(call, [&] {
    Context& its_context = context_of(context);
    const Workload workload = c::workload_of(problem, operands);
    const c::Call its_call(call);
    its_context.pin(workload, &required(config, "config"), launch != nullptr ? launch : "");
  });
}
