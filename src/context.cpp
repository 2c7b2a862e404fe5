#include "context_impl.hpp"

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "runtime/validate.hpp"
#include "runtime/validate_operands.hpp"

#include <hotgemm/error.hpp>

#include <utility>

namespace hotgemm {

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::cached_only: return "cached_only";
    case Policy::estimate: return "estimate";
    case Policy::tune: return "tune";
  }
  return "?";
}

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Context::~Context() = default;

Context& Context::default_context() {
  static Context* instance = new Context();  // never freed: kernels may be launched until the process ends
  return *instance;
}

void Context::gemm(Stream stream, const Problem& asked, const Operands& operands) {
  if (!has_known_size(operands)) return gemm(stream, asked, known_operands(operands));
  validate(asked);
  validate_fields(operands);
  validate(asked, operands);
  if (asked.m == 0 || asked.n == 0) return;
  const Workload problem = describe(asked, operands);
  DeviceState& device = impl_->current();
  const PlanTable::Slot* slot = device.plans().find(class_key(problem));
  const Policy policy = impl_->options().policy;
  if (slot != nullptr && !slot->is_unreserved && (!slot->is_provisional || policy != Policy::tune)) {
    slot->plan->launch(stream, problem, operands);
  } else {
    impl_->find_or_plan(device, problem, policy, stream)->launch(stream, problem, operands);
  }
}

Plan Context::plan(const Workload& problem, Policy policy, Stream stream) {
  validate(problem);
  return Plan(impl_->find_or_plan(impl_->current(), problem, policy, stream), problem);
}

Plan Context::plan(const Workload& problem) { return plan(problem, impl_->options().policy); }

Stats Context::stats() const { return impl_->stats(); }

void hgemm(Stream stream, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const void* a,
           std::int64_t lda, const void* b, std::int64_t ldb, float beta, void* c, std::int64_t ldc,
           const Types& types) {
  const Problem problem{.m = m, .n = n, .k = k, .op_a = op_a, .op_b = op_b, .types = types};
  const Operands operands{
      .a = a, .b = b, .c = c, .d = c, .lda = lda, .ldb = ldb, .ldc = ldc, .ldd = ldc, .alpha = alpha, .beta = beta};
  Context::default_context().gemm(stream, problem, operands);
}

// ---- the cold path ----

Context::Impl::~Impl() {
  for (Node* node = devices_.load(); node != nullptr;) {
    Node* next = node->next;
    delete node;
    node = next;
  }
}

DeviceState& Context::Impl::current() {
  if (is_forked_child()) throw Error(ErrorCode::forked, "CUDA cannot be used in a child of fork()");
  const Driver& driver = Driver::get();
  const unsigned long long id = current_context_id(driver);
  const auto find = [&]() -> Node* {
    Node* node = devices_.load(std::memory_order_acquire);
    while (node != nullptr && node->state.context_id() != id) node = node->next;
    return node;
  };
  if (Node* node = find()) return node->state;
  const std::lock_guard lock(mutex_);
  if (Node* node = find()) return node->state;
  watch_for_fork();
  Node* node = new Node{DeviceState(driver, engine_), devices_.load()};
  devices_.store(node, std::memory_order_release);
  return node->state;
}

std::shared_ptr<const PlanImpl> Context::Impl::find_or_plan(DeviceState& device, const Workload& problem, Policy policy,
                                                            Stream stream) {
  const ClassKey key = class_key(problem);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Driver& driver = device.driver();
  driver.check(driver.cuStreamIsCapturing(stream, &status), "ask whether the stream is being captured");
  const bool is_capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
  const PlanTable::Slot* known = device.plans().find(key);
  // A capturing thread does not wait for one that allocates.
  if (known != nullptr && is_capturing) return known->plan;
  if (policy != Policy::tune || is_capturing || (known != nullptr && !known->is_provisional)) {
    return plan_now(device, problem, key, policy, is_capturing, false);
  }
  // While another thread tunes the class, this one gets the estimate.
  const DeviceState::TuningFlight flight(device, key);
  known = device.plans().find(key);
  const bool is_open = flight && (known == nullptr || known->is_provisional);
  if (is_open && is_tunable(device, problem)) return tune_now(device, problem, key, policy);
  return plan_now(device, problem, key, policy, is_capturing, is_open);
}

bool Context::Impl::is_tunable(DeviceState& device, const Workload& problem) const {
  if (problem.m == 0 || problem.n == 0 || problem.k == 0) return false;
  return !find_record(problem, device.info().arch, engine_.database, device.query()).has_value();
}

void Context::Impl::set_workspace_apart(DeviceState& device, const PlanImpl& plan) const {
  if (plan.workspace_size().is_empty()) return;
  device.workspace().reserve(plan.workspace_size(), options_.workspace_captures);
}

std::shared_ptr<const PlanImpl> Context::Impl::plan_now(DeviceState& device, const Workload& problem,
                                                        const ClassKey& key, Policy policy, bool is_capturing,
                                                        bool may_replace) {
  const DeviceState::Flight flight(device, key);
  const PlanTable::Slot* slot = device.plans().find(key);
  if (slot != nullptr && !(slot->is_provisional && may_replace)) {
    if (!is_capturing) set_workspace_apart(device, *slot->plan);
    if (slot->is_unreserved && !is_capturing) device.plans().insert(key, slot->plan, slot->is_provisional);
    return slot->plan;
  }
  // Another kernel could change the bits of deterministic sums: their first plan is final.
  const bool is_provisional = problem.order != SumOrder::deterministic && is_tunable(device, problem);
  const std::shared_ptr<const PlanImpl> plan = plan_without_measuring(device, problem, policy);
  if (!is_capturing) set_workspace_apart(device, *plan);
  device.plans().insert(key, plan, is_provisional, is_capturing && !plan->workspace_size().is_empty());
  if (slot == nullptr) ++plans_;
  return plan;
}

std::shared_ptr<const PlanImpl> Context::Impl::tune_now(DeviceState& device, const Workload& problem,
                                                        const ClassKey& key, Policy policy) {
  Tuned tuned = plan_by_tuning(device, problem);
  const DeviceState::Flight flight(device, key);
  const PlanTable::Slot* slot = device.plans().find(key);
  if (slot != nullptr && !slot->is_provisional) return slot->plan;  // of another thread that came first
  // If tuning failed, the plan is final, so that no later call pays for the same failure.
  const bool is_provisional = tuned.may_try_again && problem.order != SumOrder::deterministic;
  if (!tuned.plan) tuned.plan = slot != nullptr ? slot->plan : plan_without_measuring(device, problem, policy);
  set_workspace_apart(device, *tuned.plan);
  device.plans().insert(key, tuned.plan, is_provisional);
  if (slot == nullptr) ++plans_;
  return tuned.plan;
}

Context::Impl::Tuned Context::Impl::plan_by_tuning(DeviceState& device, const Workload& problem) {
  try {
    const TuneOutcome outcome =
        tune_problem(device, problem, options_.tuning, place_.measurer(device, options_.tuning));
    const Candidate& winner = outcome.candidates.front();
    const Choice choice{winner.config, winner.launch, Origin::tuned, 0};
    ++tuned_;
    const std::size_t bytes = engine_.workspace_of(choice.config, choice.launch, problem).total_bytes();
    const std::size_t cap_bytes = workspace_cap(problem.hints.workspace, engine_.workspace.cap_bytes());
    if (bytes > cap_bytes) return {};  // the plan of the next choice notes the reason
    const Affordable affordable = bytes > 0 ? affordable_choices(device, problem) : Affordable{};
    return {make_plan(device, problem, choice, *winner.cubin, affordable, Policy::tune)};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    log(LogLevel::warn, "not tuned, the model decides: " + to_string(problem) + ": " + error.what());
    return {.may_try_again = error.code() == ErrorCode::interrupted};
  }
}

Affordable Context::Impl::affordable_choices(const DeviceState& device, const Workload& problem) const {
  return within_workspace(choose(problem, device.info().arch, engine_.database, device.query()), problem,
                          engine_.workspace_of, engine_.workspace.cap_bytes());
}

std::shared_ptr<const PlanImpl> Context::Impl::plan_without_measuring(DeviceState& device, const Workload& problem,
                                                                      Policy policy) {
  const Affordable affordable = affordable_choices(device, problem);
  for (const Choice& choice : affordable.choices) {
    const Cubin cubin = cubin_of(device, problem, choice, policy);
    if (cubin.spill_bytes > 0 && &choice != &affordable.choices.back()) continue;  // prefer the next choice
    count(choice.origin);
    if (choice.origin != Origin::tuned || !affordable.note.empty()) {
      log(LogLevel::info, "not tuned: " + to_string(problem) + " runs " + to_string(choice) +
                              (affordable.note.empty() ? "" : ": " + affordable.note));
    }
    return make_plan(device, problem, choice, cubin, affordable, policy);
  }
  throw Error(ErrorCode::not_supported,
              "every kernel for " + to_string(problem) + " needs more workspace than the cap: " + affordable.note);
}

Cubin Context::Impl::cubin_of(const DeviceState& device, const Workload& problem, const Choice& choice, Policy policy) {
  const GemmTraits traits = traits_of(problem, choice.launch);
  return cubin_of(device, problem, choice, render(choice.config, traits, device.info().arch, engine_.bundle), policy);
}

Cubin Context::Impl::cubin_of(const DeviceState& device, const Workload& problem, const Choice& choice,
                              const KernelSource& source, Policy policy) {
  std::optional<Cubin> cubin = engine_.builder.find(source);
  if (!cubin && policy == Policy::cached_only) {
    throw Error(ErrorCode::not_prepared, "no cubin in the cache for " + to_string(problem) + ", which " +
                                             device.info().arch + " would compute with " + to_string(choice.config) +
                                             "; run: hotgemm prewarm");
  }
  if (!cubin) {
    cubin = engine_.builder.build(source).cubin;
    ++engine_.compiled;
  }
  return *std::move(cubin);
}

std::shared_ptr<const PlanImpl> Context::Impl::make_plan(DeviceState& device, const Workload& problem,
                                                         const Choice& choice, const Cubin& cubin,
                                                         const Affordable& affordable, Policy policy) {
  PlanWorkspace workspace{.size = engine_.workspace_of(choice.config, choice.launch, problem),
                          .pool = &device.workspace(),
                          .budget = &engine_.workspace,
                          .without = nullptr,
                          .repack = nullptr};
  if (!workspace.size.is_empty()) {
    const Choice* without = first_without_workspace(affordable.choices, choice, problem, engine_.workspace_of);
    if (without != nullptr) {
      workspace.without =
          device.make_plan(*without, traits_of(problem, without->launch), cubin_of(device, problem, *without, policy));
    }
  }
  if (repacks(choice.launch)) {
    const KernelSource source = render_repack(device.info().arch, engine_.bundle);
    workspace.repack = device.load_repack(cubin_of(device, problem, choice, source, policy));
  }
  return device.make_plan(choice, traits_of(problem, choice.launch), cubin, std::move(workspace), affordable.note);
}

void Context::Impl::count(Origin origin) {
  switch (origin) {
    case Origin::tuned: ++recorded_; break;
    case Origin::nearest: ++nearest_; break;
    case Origin::estimated: ++estimated_; break;
  }
}

Stats Context::Impl::stats() const {
  return {.plans = plans_,
          .tuned = tuned_,
          .recorded = recorded_,
          .nearest = nearest_,
          .estimated = estimated_,
          .compiled = engine_.compiled,
          .without_workspace = engine_.workspace.launches_without()};
}

}  // namespace hotgemm
