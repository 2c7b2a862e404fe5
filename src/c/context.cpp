#include "base/moment.hpp"
#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/problem.hpp"
#include "c/sized.hpp"
#include "c/text.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

using namespace hotgemm;
using c::context_of;
using c::done;
using c::required;

namespace {

Moment moment_in(double seconds) {
  if (std::isnan(seconds)) throw Error(ErrorCode::invalid_argument, "seconds is nan; it must be a number");
  return moment_after(std::chrono::steady_clock::now(), std::max(seconds, 0.0));
}

}  // namespace

hotgemm_status hotgemm_option_names(char* buffer, size_t size, size_t* length) {
  return done(nullptr, [&] { c::give_text(c::option_names(), buffer, size, length); });
}

hotgemm_status hotgemm_context_create(const hotgemm_option* options, size_t count, hotgemm_context** context) {
  return done(nullptr, [&] {
    hotgemm_context*& handle = required(context, "context");
    handle = nullptr;
    auto owned = std::make_unique<Context>(c::context_options(options, count));
    Context* const pointer = owned.get();
    handle = new hotgemm_context{pointer, std::move(owned)};
  });
}

void hotgemm_context_destroy(hotgemm_context* context) {
  if (context != nullptr && context->owned) delete context;
}

hotgemm_status hotgemm_context_default(hotgemm_context** context) {
  return done(nullptr, [&] {
    hotgemm_context*& handle = required(context, "context");
    static auto* const instance = new hotgemm_context{&Context::default_context(), nullptr};  // as long as the process
    handle = instance;
  });
}

hotgemm_status hotgemm_context_configure_default(const hotgemm_option* options, size_t count) {
  return done(nullptr, [&] { Context::configure_default(c::context_options(options, count)); });
}

hotgemm_status hotgemm_add_function(hotgemm_context* context, const char* source, const char* name,
                                    uint64_t* function) {
  return done(nullptr, [&] {
    uint64_t& result = required(function, "function");
    const char* const file = name != nullptr ? name : "epilogue";
    result = context_of(context).add_function(&required(source, "source"), file).number();
  });
}

hotgemm_status hotgemm_pause_tuning(hotgemm_context* context) {
  return done(nullptr, [&] { context_of(context).pause_tuning(); });
}

hotgemm_status hotgemm_resume_tuning(hotgemm_context* context) {
  return done(nullptr, [&] { context_of(context).resume_tuning(); });
}

hotgemm_status hotgemm_cancel_tuning(hotgemm_context* context) {
  return done(nullptr, [&] { context_of(context).cancel_tuning(); });
}

hotgemm_status hotgemm_wait_tuned(hotgemm_context* context, double seconds, int32_t* is_done) {
  return done(nullptr, [&] {
    int32_t& result = required(is_done, "done");
    result = context_of(context).wait_tuned(moment_in(seconds)) ? 1 : 0;
  });
}

hotgemm_status hotgemm_forget(hotgemm_context* context, const hotgemm_problem* problem,
                              const hotgemm_operands* operands, int32_t records) {
  return done(nullptr, [&] {
    context_of(context).forget(c::workload_of(problem, operands),
                               records != 0 ? Forget::plan_and_records : Forget::plan);
  });
}

hotgemm_status hotgemm_reload(hotgemm_context* context, size_t* outdated) {
  return done(nullptr, [&] {
    const std::size_t count = context_of(context).reload();
    if (outdated != nullptr) *outdated = count;
  });
}

hotgemm_status hotgemm_records_digest(hotgemm_context* context, char* buffer, size_t size, size_t* length) {
  return done(nullptr, [&] { c::give_text(context_of(context).records_digest(), buffer, size, length); });
}

hotgemm_status hotgemm_get_stats(hotgemm_context* context, hotgemm_stats* stats) {
  return done(nullptr, [&] {
    const Stats s = context_of(context).stats();
    const hotgemm_stats filled{.size = sizeof(hotgemm_stats),
                               .plans = s.plans,
                               .tuned = s.tuned,
                               .recorded = s.recorded,
                               .nearest = s.nearest,
                               .estimated = s.estimated,
                               .compiled = s.compiled,
                               .without_workspace = s.without_workspace,
                               .launches = s.launches,
                               .declined = s.declined,
                               .live_plans = s.live_plans,
                               .evictions = s.evictions,
                               .exchanged = s.exchanged,
                               .waiting_classes = s.waiting_classes,
                               .refused_cubins = s.refused_cubins,
                               .planning_s = s.planning.total_s,
                               .compiling_s = s.compiling.total_s,
                               .tuning_s = s.tuning.total_s,
                               .waiting_s = s.waiting.total_s};
    c::give(required(stats, "stats"), filled, "stats");
  });
}

hotgemm_status hotgemm_metrics(hotgemm_context* context, char* buffer, size_t size, size_t* length) {
  return done(nullptr, [&] { c::give_text(context_of(context).metrics(), buffer, size, length); });
}
