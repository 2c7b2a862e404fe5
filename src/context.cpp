#include "context_impl.hpp"

#include "base/exit_handlers.hpp"
#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "base/profiler_range.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "runtime/validate.hpp"
#include "runtime/validate_operands.hpp"

#include <hotgemm/error.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace hotgemm {

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Context::~Context() = default;

bool is_to_launch(const Problem& asked, const Operands& operands) {
  validate(asked);
  validate(asked, operands);
  return !is_empty(asked);
}

void Context::gemm(Stream stream, const Problem& asked, const Operands& operands) {
  if (!has_known_size(operands)) return gemm(stream, asked, known_operands(operands));
  if (!is_to_launch(asked, operands)) return;
  const Impl::Call call(*impl_, stream, asked, operands);
  const Policy policy = impl_->options().policy;
  {
    const ReadGuard reading;  // the plan stays, although another thread may push it out
    const PlanTable::Slot* slot = call.device.plans().find(call.key);
    const bool is_final =
        slot != nullptr && !slot->entry.is_unreserved && !slot->entry.is_interim && !slot->is_outdated;
    if (is_final && !impl_->is_to_tune(slot->entry, policy)) {
      return slot->entry.plan->launch(stream, call.problem, operands);
    }
  }
  require_enqueueable(call.device.driver(), stream);
  impl_->find_or_plan(call.device, call.problem, policy, stream, Impl::Reserve::once)
      ->launch(stream, call.problem, operands);
}

Plan Context::plan(const Workload& problem, Policy policy, Stream stream) {
  validate(problem);
  PushedContext pushed(Impl::driver());
  DeviceState& device = impl_->current(stream, pushed);
  // So that Context::pack has nothing to load later.
  if (problem.prepacked_a || problem.prepacked_b) device.repack_kernel(policy != Policy::cached_only);
  return Plan(impl_->find_or_plan(device, problem, policy, stream, Impl::Reserve::again), problem);
}

Plan Context::plan(const Workload& problem) { return plan(problem, impl_->options().policy); }

Policy Context::policy() const { return impl_->options().policy; }

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

namespace {

void log_planned(const Workload& problem, const PlanImpl& plan, const WaitTimer& timer) {
  log(LogLevel::info,
      "planned " + to_string(problem) + " in " + to_ms(timer.elapsed()) + ": " + to_string(plan.choice()));
}

/// True if the class of `problem` is promised `plan` until it is forgotten.
bool is_kept(const Problem& problem, const PlanImpl& plan) {
  return problem.order == SumOrder::deterministic || plan.choice().origin == Origin::pinned;
}

}  // namespace

Context::Impl::Impl(const ContextOptions& options)
    : options_(with_fixed_directory(options)),
      control_(options_.tuning_total_s),
      place_(options_),
      engine_(options_),
      background_(options_, place_, control_,
                  {.is_wanted = [this](const auto& waiting) { return is_wanted(waiting); },
                   .ended = [this](const auto& waiting, const auto* outcome) { exchange(waiting, outcome); },
                   .load = [this](const auto& waiting) { replace_interim(waiting); },
                   .prepare = [this](const auto& waiting) { return prepare(waiting); }}) {
  watch_main_thread();
}

Context::Impl::~Impl() {
  background_.stop();
  for (Node* node = devices_.load(); node != nullptr;) {
    Node* next = node->next;
    delete node;
    node = next;
  }
}

const Driver& Context::Impl::driver() {
  if (has_lost_cuda()) throw Error(ErrorCode::forked, "CUDA cannot be used in a child of fork()");
  return Driver::get();
}

DeviceState& Context::Impl::current() {
  const Driver& libcuda = driver();
  return state_of(libcuda, current_context_id(libcuda));
}

DeviceState& Context::Impl::current(Stream stream, PushedContext& pushed) {
  const Driver& libcuda = driver();
  unsigned long long id = 0;
  const CUresult result = libcuda.cuCtxGetId(nullptr, &id);
  if (result == CUDA_SUCCESS) return state_of(libcuda, id);
  if (result == CUDA_ERROR_INVALID_CONTEXT) pushed.push_context_if_none(stream);
  return state_of(libcuda, current_context_id(libcuda));
}

DeviceState* Context::Impl::find_state(unsigned long long id) const {
  Node* node = devices_.load(std::memory_order_acquire);
  while (node != nullptr && node->state.context_id() != id) node = node->next;
  return node != nullptr ? &node->state : nullptr;
}

DeviceState& Context::Impl::state_of(const Driver& driver, unsigned long long id) {
  if (DeviceState* state = find_state(id)) return *state;
  const std::lock_guard lock(mutex_);
  if (DeviceState* state = find_state(id)) return *state;
  auto* node = new Node{DeviceState(driver, engine_), devices_.load()};
  devices_.store(node, std::memory_order_release);
  return node->state;
}

std::shared_ptr<const PlanImpl> Context::Impl::find_or_plan(DeviceState& device, const Workload& problem, Policy policy,
                                                            Stream stream, Reserve reserve) {
  const ClassKey key = class_key(problem);
  const bool is_capturing = hotgemm::is_capturing(device.driver(), stream);
  std::optional<PlanEntry> known = device.plans().get(key);
  // A capturing thread does not wait for one that allocates. But a graph would keep an interim plan.
  if (known && is_capturing && !known->is_interim) return known->plan;
  if (known && known->is_interim && !is_capturing && reserve == Reserve::once) return known->plan;
  if (known && known->is_outdated) {
    if (std::shared_ptr<const PlanImpl> plan = replace_outdated(device, problem, key, policy)) return plan;
    known = device.plans().get(key);
  }
  const auto is_open_now = [&] {
    return policy == Policy::tune && control_.may_begin() && (!known || is_to_tune(*known, policy));
  };
  if (is_capturing || !is_open_now()) {
    return plan_now(device, problem, key, policy, is_capturing, false, reserve);
  }
  // While another thread tunes the class, this one gets the estimate.
  const ClassFlights::Flight flight = device.tuning().try_take(measured_product(key));
  known = device.plans().get(key);
  const bool is_open = flight && is_open_now();
  if (is_open && is_tunable(device, problem)) return tune_now(device, problem, key, policy);
  if (known && !is_open && !known->is_unreserved && reserve == Reserve::once) return known->plan;
  return plan_now(device, problem, key, policy, is_capturing, is_open, reserve);
}

bool Context::Impl::is_tunable(DeviceState& device, const Workload& problem) const {
  if (has_nothing_to_measure(problem) || pinned_.contains(class_key(problem))) return false;
  return !find_record(problem, device.info().arch, engine_.database, device.query()).has_value();
}

void Context::Impl::set_workspace_apart(DeviceState& device, const PlanImpl& plan) const {
  if (plan.workspace_size().is_empty()) return;
  device.workspace().reserve(plan.workspace_size(), options_.workspace_captures);
}

std::shared_ptr<const PlanImpl> Context::Impl::plan_now(DeviceState& device, const Workload& problem,
                                                        const ClassKey& key, Policy policy, bool is_capturing,
                                                        bool may_replace, Reserve reserve) {
  const ClassFlights::Flight flight = device.planning().wait_for(key, engine_.counters.waiting);
  const std::uint64_t reloads = engine_.database.reloads();
  const std::optional<PlanEntry> known = device.plans().get(key);
  if (known && !known->is_interim && !(known->is_provisional && may_replace)) {
    if (is_capturing) return known->plan;
    if (known->is_unreserved || reserve == Reserve::again) set_workspace_apart(device, *known->plan);
    if (known->is_unreserved) {
      PlanEntry reserved = *known;
      reserved.is_unreserved = false;
      insert(device, key, std::move(reserved), reloads);
    }
    return known->plan;
  }
  const ProfilerRange range([&] { return "plan " + to_string(problem); });
  const WaitTimer timer(engine_.counters.planning);
  // Another kernel could change the bits of deterministic sums: their first plan is final.
  const bool is_provisional = problem.order != SumOrder::deterministic && is_tunable(device, problem);
  if (!known && !is_capturing && reserve == Reserve::once && policy == Policy::background) {
    if (std::shared_ptr<const PlanImpl> plan = interim_plan(device, problem)) {
      insert(device, key, {.plan = plan, .is_provisional = is_provisional, .is_interim = true}, reloads);
      ++plans_;
      log_planned(problem, *plan, timer);
      return plan;
    }
  }
  const std::shared_ptr<const PlanImpl> plan = plan_without_measuring(device, problem, policy);
  if (!is_capturing) set_workspace_apart(device, *plan);
  insert(device, key,
         {.plan = plan,
          .is_provisional = is_provisional,
          .is_unreserved = is_capturing && !plan->workspace_size().is_empty(),
          .is_kept = is_kept(problem, *plan)},
         reloads);
  if (!known) ++plans_;
  log_planned(problem, *plan, timer);
  if (is_provisional) tune_later(device, problem, plan, policy);
  return plan;
}

void Context::Impl::tune_later(DeviceState& device, const Workload& problem,
                               const std::shared_ptr<const PlanImpl>& plan, Policy policy) {
  if (policy == Policy::background) background_.add(device, problem, plan);
}

std::shared_ptr<const PlanImpl> Context::Impl::tune_now(DeviceState& device, const Workload& problem,
                                                        const ClassKey& key, Policy policy) {
  const ProfilerRange range([&] { return "plan " + to_string(problem); });
  const WaitTimer timer(engine_.counters.planning);
  const Clock::time_point start = Clock::now();
  const std::uint64_t reloads = engine_.database.reloads();  // of the records that the plan is made from
  Tuned tuned = plan_by_tuning(device, problem);
  const Clock::time_point end = Clock::now();
  const ClassFlights::Flight flight = device.planning().wait_for(key, engine_.counters.waiting);
  const std::optional<PlanEntry> known = device.plans().get(key);
  if (known && !known->is_provisional) return known->plan;  // of another thread that came first
  if (pinned_.contains(key)) tuned = {};                    // by another thread meanwhile
  // If tuning failed, the plan is final, so that no later call pays for the same failure.
  const bool is_provisional = tuned.may_try_again && problem.order != SumOrder::deterministic;
  if (!tuned.plan && known && !known->is_interim) tuned.plan = known->plan;
  if (!tuned.plan) tuned.plan = plan_without_measuring(device, problem, policy);
  set_workspace_apart(device, *tuned.plan);
  insert(device, key,
         {.plan = tuned.plan,
          .is_provisional = is_provisional,
          .is_kept = is_kept(problem, *tuned.plan),
          .wasted = is_provisional ? end - start : Clock::duration::zero(),
          .wasted_until = end},
         reloads);
  if (!known) ++plans_;
  log_planned(problem, *tuned.plan, timer);
  return tuned.plan;
}

Context::Impl::Tuned Context::Impl::plan_by_tuning(DeviceState& device, const Workload& problem) {
  try {
    TuneOptions how = options_.tuning;
    const TuningControl::Share share = control_.begin(how.budget_s);
    if (!share) return {.plan = nullptr, .may_try_again = true};
    const WaitTimer timer(engine_.counters.tuning);
    if (how.budget_s > share.seconds()) how.budget_s = share.seconds();
    const auto is_cancelled = [&] { return share.is_cancelled() || control_.is_paused(); };
    const TuneOutcome outcome = tune_problem(device, problem, how, place_.measurer(device, how), is_cancelled);
    log(LogLevel::info, "tuned " + to_string(problem) + " in " + to_ms(timer.elapsed()));
    ++tuned_;
    return {plan_of(device, problem, outcome)};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    log(LogLevel::warn, "not tuned, the model decides: " + to_string(problem) + ": " + error.what());
    return {.may_try_again = error.code() == ErrorCode::interrupted};
  }
}

std::shared_ptr<const PlanImpl> Context::Impl::plan_of(DeviceState& device, const Workload& problem,
                                                       const TuneOutcome& outcome) {
  // The measured kernel may lack a part of the epilogue. Then its record picks the fused one.
  if (problem.epilogue != measured_product(problem).epilogue)
    return plan_without_measuring(device, problem, Policy::tune);
  const Candidate& winner = outcome.candidates.front();
  const Choice choice{winner.config, winner.launch, Origin::tuned, 0};
  const std::size_t bytes = engine_.workspace_of(choice.config, choice.launch, problem).total_bytes();
  const std::size_t cap_bytes = workspace_cap(problem.hints.workspace, engine_.workspace.cap_bytes());
  if (bytes > cap_bytes) return nullptr;  // the plan of the next choice notes the reason
  const Affordable affordable = bytes > 0 ? affordable_choices(device, problem) : Affordable{};
  return make_plan(device, problem, choice, *winner.cubin, affordable, Policy::tune);
}

bool Context::Impl::is_wanted(const BackgroundTuner::Waiting& waiting) {
  DeviceState& device = *waiting.device;
  const ClassKey key = class_key(waiting.problem);
  const std::optional<PlanEntry> known = device.plans().get(key, false);
  if (!known || !known->is_provisional || known->plan != waiting.plan.lock()) return false;
  if (is_tunable(device, waiting.problem)) return true;
  // There is a record by now, of another GPU's tuning for instance.
  if (options_.background.loads_kernels && mark_if_outdated(device, key) != Outdated::no) {
    replace_outdated(device, waiting.problem, key, Policy::estimate);
  }
  return false;
}

void Context::Impl::exchange(const BackgroundTuner::Waiting& waiting, const TuneOutcome* outcome) {
  DeviceState& device = *waiting.device;
  const ClassKey key = class_key(waiting.problem);
  const std::uint64_t reloads = engine_.database.reloads();
  if (outcome != nullptr) ++tuned_;
  const std::optional<PlanEntry> before = device.plans().get(key, false);
  if (!before || !before->is_provisional) return;  // pushed out, or planned by other means meanwhile
  const bool may_load = outcome != nullptr && options_.background.loads_kernels;
  const std::shared_ptr<const PlanImpl> plan = may_load ? plan_of(device, waiting.problem, *outcome) : nullptr;
  if (plan) set_workspace_apart(device, *plan);
  const ClassFlights::Flight flight = device.planning().wait_for(key, engine_.counters.waiting);
  std::optional<PlanEntry> known = device.plans().get(key);
  if (!known || !known->is_provisional) return;
  known->is_provisional = false;
  if (plan) {
    log(LogLevel::info, "exchanged " + to_string(waiting.problem) + ": " + to_string(plan->choice()) + ", after " +
                            to_string(known->plan->choice()));
    known->plan = plan;
    known->is_unreserved = known->is_outdated = known->is_interim = false;
    ++exchanged_;
  }
  insert(device, key, *std::move(known), reloads);
}

Affordable Context::Impl::affordable_choices(const DeviceState& device, const Workload& problem) const {
  return within_workspace(choose(problem, device.info().arch, engine_.database, device.query()), problem,
                          engine_.workspace_of, engine_.workspace.cap_bytes());
}

std::shared_ptr<const PlanImpl> Context::Impl::plan_without_measuring(DeviceState& device, const Workload& problem,
                                                                      Policy policy) {
  if (const std::optional<PinnedConfig> pinned = pinned_.find(class_key(problem))) {
    try {
      return plan_pinned(device, problem, *pinned, policy);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_supported) throw;
      log(LogLevel::warn, std::string("what is pinned does not run here: ") + error.what());
    }
  }
  const Affordable affordable = affordable_choices(device, problem);
  std::vector<const Choice*> order;  // grows by choices that spill: those are tried again at the end
  for (const Choice& choice : affordable.choices) order.push_back(&choice);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Choice& choice = *order[i];
    try {
      const Cubin cubin = cubin_of(device, problem, choice, policy);
      if (cubin.spill_bytes > most_spill_bytes(problem) && i + 1 < affordable.choices.size()) {
        order.push_back(&choice);
        continue;
      }
      std::shared_ptr<const PlanImpl> plan = make_plan(device, problem, choice, cubin, affordable, policy);
      count(choice.origin);
      if (choice.origin != Origin::tuned || !affordable.note.empty()) {
        log(LogLevel::info, "not tuned: " + to_string(problem) + " runs " + to_string(choice) +
                                (affordable.note.empty() ? "" : ": " + affordable.note));
      }
      return plan;
    } catch (const RefusedCubin& refusal) {
      if (i + 1 == order.size()) throw;
      log(LogLevel::warn, "the next choice computes " + to_string(problem) + ": " + refusal.what());
    }
  }
  throw too_little_workspace(problem, affordable);
}

Cubin Context::Impl::cubin_of(DeviceState& device, const Workload& problem, const Choice& choice, Policy policy) {
  const GemmTraits traits = traits_of(problem, choice.launch);
  const KernelSource source = render(choice.config, traits, device.info().arch, engine_.bundle);
  device.require_not_refused(source.symbol);
  std::optional<Cubin> cubin = engine_.builder.find(source);
  if (!cubin && policy == Policy::cached_only) {
    throw Error(ErrorCode::not_prepared, "no cubin in the cache for " + to_string(problem) + ", which " +
                                             device.info().arch + " would compute with " + to_string(choice.config) +
                                             "; run: hotgemm prewarm");
  }
  return cubin ? *std::move(cubin) : engine_.build(source);
}

std::shared_ptr<const PlanImpl> Context::Impl::make_plan(DeviceState& device, const Workload& problem,
                                                         const Choice& choice, const Cubin& cubin,
                                                         const Affordable& affordable, Policy policy) {
  PlanWorkspace workspace{.size = engine_.workspace_of(choice.config, choice.launch, problem),
                          .pool = &device.workspace(),
                          .budget = &engine_.workspace,
                          .without = nullptr,
                          .repack = nullptr};
  const bool may_compile = policy != Policy::cached_only;
  if (!workspace.size.is_empty()) {
    const Choice* without = first_without_workspace(affordable.choices, choice, problem, engine_.workspace_of);
    if (without != nullptr) {
      try {
        workspace.without = device.make_plan(*without, traits_of(problem, without->launch),
                                             cubin_of(device, problem, *without, policy), {}, {}, may_compile);
      } catch (const RefusedCubin& refusal) {
        log(LogLevel::warn, "no kernel computes " + to_string(problem) + " if no workspace is left: " + refusal.what());
      }
    }
  }
  if (repacks(choice.launch)) workspace.repack = device.repack_kernel(may_compile);
  return device.make_plan(choice, traits_of(problem, choice.launch), cubin, std::move(workspace), affordable.note,
                          may_compile);
}

void Context::Impl::count(Origin origin) {
  switch (origin) {
    case Origin::tuned: ++recorded_; break;
    case Origin::nearest: ++nearest_; break;
    case Origin::estimated: ++estimated_; break;
    case Origin::pinned: break;
  }
}

Stats Context::Impl::stats() const {
  std::uint64_t live_plans = 0, evictions = 0;
  for (const Node* node = devices_.load(); node != nullptr; node = node->next) {
    live_plans += node->state.plans().size();
    evictions += node->state.plans().evictions();
  }
  const Counters& counters = engine_.counters;
  return {.plans = plans_,
          .tuned = tuned_,
          .recorded = recorded_,
          .nearest = nearest_,
          .estimated = estimated_,
          .compiled = engine_.compiled,
          .without_workspace = engine_.workspace.launches_without(),
          .launches = counters.launches.sum(),
          .declined = counters.declined.sum(),
          .live_plans = live_plans,
          .evictions = evictions,
          .exchanged = exchanged_,
          .waiting_classes = background_.waiting(),
          .refused_cubins = counters.refused_cubins,
          .planning = counters.planning.read(),
          .compiling = counters.compiling.read(),
          .tuning = counters.tuning.read(),
          .waiting = counters.waiting.read()};
}

}  // namespace hotgemm
