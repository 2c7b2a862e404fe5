#pragma once

#include "background_tuner.hpp"
#include "runtime/device_state.hpp"
#include "runtime/engine.hpp"
#include "runtime/pinned_classes.hpp"
#include "tune/tune.hpp"
#include "tuning_control.hpp"
#include "tuning_place.hpp"

#include <hotgemm/context.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

namespace hotgemm {

class Context::Impl {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Reserve { once, again };

  explicit Impl(const ContextOptions& options);
  ~Impl();

  /// The beginning of a call: what is to be planned, where, and by which key. `asked` and `operands` are valid.
  struct Call {
    Call(Impl& context, Stream stream, const Problem& asked, const Operands& operands)
        : problem(describe(asked, operands)),
          pushed(driver()),
          device(context.current(stream, pushed)),
          key(class_key(problem)) {
      if (ProblemLog* const problems = context.engine_.problem_log.get()) problems->add(key, problem);
    }

    const Workload problem;
    PushedContext pushed;
    DeviceState& device;
    const ClassKey key;
  };

  /// The state of the current CUDA context. Takes a lock only the first time. Throws Error{no_device} if there is no
  /// current context, no_driver if there is no libcuda, forked in a child of fork().
  DeviceState& current();
  /// The state for a call on `stream`: if the thread has no current context, that of the stream becomes current for the
  /// life of `pushed`.
  DeviceState& current(Stream stream, PushedContext& pushed);
  /// libcuda. Throws Error{no_driver, forked}.
  static const Driver& driver();

  /// The cold path of gemm and plan. Returns the plan for `problem` from now on; on a capturing stream possibly for
  /// this call only. `reserve`: whether workspace for captures is set apart for a plan that is there already.
  std::shared_ptr<const PlanImpl> find_or_plan(DeviceState& device, const Workload& problem, Policy policy,
                                               Stream stream, Reserve reserve);

  const ContextOptions& options() const { return options_; }
  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  TuningPlace& tuning_place() { return place_; }
  TuningControl& tuning_control() { return control_; }
  BackgroundTuner& background() { return background_; }
  /// The state of the CUDA context with this id; nullptr if nothing was done there.
  DeviceState* find_state(unsigned long long context_id) const;
  PinnedClasses& pinned() { return pinned_; }
  /// Calls `visit` with the state of every CUDA context.
  template <class Visit>
  void for_each_device(Visit&& visit) {
    for (Node* node = devices_.load(std::memory_order_acquire); node != nullptr; node = node->next) visit(node->state);
  }
  /// True if a call under `policy` tunes the class of `entry`, unless another thread does.
  bool is_to_tune(const PlanEntry& entry, Policy policy) const {
    if (!entry.is_provisional || policy != Policy::tune || !control_.may_begin()) return false;
    if (entry.wasted == Clock::duration::zero()) return true;
    return Clock::now() >= entry.wasted_until + std::max(least_pause_.load(), pause_times_.load() * entry.wasted);
  }
  /// Pins `problem` in all CUDA contexts; `current` gets its plan now.
  void pin(DeviceState& current, const Workload& problem, const PinnedConfig& pinned);
  /// Inserts a plan that was made after `reloads` reloads of the records. If there was another one meanwhile, which
  /// could not see this plan, the plan is marked as it would have been then.
  void insert(DeviceState& device, const ClassKey& key, PlanEntry entry, std::uint64_t reloads);
  /// The way in which the records, as they are now, contradict a plan.
  enum class Outdated {
    no,         ///< they do not, or the plan must stay
    in_origin,  ///< they name the same kernel, and say that it was measured, or how fast cuBLAS is
    in_kernel,  ///< they name another kernel
  };
  /// Marks the plan of `key` if it is outdated.
  Outdated mark_if_outdated(DeviceState& device, const ClassKey& key);
  /// Replaces the plans of the current CUDA context that are marked, if there is one.
  void replace_outdated_here();
  /// Marks the plans of the class of `problem` that are outdated, and replaces that of the current CUDA context.
  void replace_plans_of(const Workload& problem);
  Stats stats() const;
  /// The pause before a class is tuned again whose tuning only waited for others: so many times that wait, and at least
  /// this long. Tests shorten it.
  void set_tuning_pause(int times, Clock::duration least) {
    pause_times_ = times;
    least_pause_ = least;
  }

 private:
  struct Node {
    DeviceState state;
    Node* next;
  };

  DeviceState& state_of(const Driver& driver, unsigned long long context_id);
  std::shared_ptr<const PlanImpl> plan_without_measuring(DeviceState& device, const Workload& problem, Policy policy);
  /// The plan of `choice` with its kernel from `cubin`. If the kernel needs workspace, the plan also holds a kernel
  /// that needs none.
  std::shared_ptr<const PlanImpl> make_plan(DeviceState& device, const Workload& problem, const Choice& choice,
                                            const Cubin& cubin, const Affordable& affordable, Policy policy);
  /// The cubin from the cache, or compiled if `policy` allows it. Throws Error{not_prepared}.
  Cubin cubin_of(DeviceState& device, const Workload& problem, const Choice& choice, Policy policy);
  Affordable affordable_choices(const DeviceState& device, const Workload& problem) const;
  /// Throws Error{not_supported} if `pinned` cannot compute the problem there.
  Choice pinned_for(const DeviceState& device, const Workload& problem, const PinnedConfig& pinned) const;
  std::shared_ptr<const PlanImpl> plan_pinned(DeviceState& device, const Workload& problem, const PinnedConfig& pinned,
                                              Policy policy);
  /// Replaces the plan of a class that is marked as outdated, if it can be. Returns the plan from now on, or the
  /// present one while another thread replaces it; nullptr if there is none.
  std::shared_ptr<const PlanImpl> replace_outdated(DeviceState& device, const Workload& problem, const ClassKey& key,
                                                   Policy policy);
  /// The plan that a tuning led to.
  struct Tuned {
    std::shared_ptr<const PlanImpl> plan;  // nullptr if tuning failed; the reason is in the log
    bool may_try_again = false;            // it failed only because others were measuring
  };
  Tuned plan_by_tuning(DeviceState& device, const Workload& problem);
  /// The plan of the winner, which counts as tuned.
  std::shared_ptr<const PlanImpl> plan_of(DeviceState& device, const Workload& problem, const TuneOutcome& outcome);
  /// A plan for the class on a kernel that is loaded, for the time until the background has chosen among all; nullptr
  /// if the class must not change its kernel, or if no loaded kernel is expected to be fast enough.
  std::shared_ptr<const PlanImpl> interim_plan(DeviceState& device, const Workload& problem);
  /// Replaces an interim plan by that of the best choice.
  void replace_interim(const BackgroundTuner::Waiting& waiting);
  /// Lets the class of `plan` wait for the background, if this is the policy.
  void tune_later(DeviceState& device, const Workload& problem, const std::shared_ptr<const PlanImpl>& plan,
                  Policy policy);
  /// Makes the plan of a class that Context::try_gemm found without one. False if it would not meet the call's demands:
  /// to load a kernel that no call may run would only hold up others.
  bool prepare(const BackgroundTuner::Waiting& waiting);
  /// True if the class still has the plan that waits, and no record. If it has a record by now, that is planned.
  bool is_wanted(const BackgroundTuner::Waiting& waiting);
  /// Ends the wait of a class for the background: its plan is that of the winner, or without one the present one.
  void exchange(const BackgroundTuner::Waiting& waiting, const TuneOutcome* outcome);
  /// Tunes the class of `problem`, and makes the result, or the estimate if that failed, its plan.
  std::shared_ptr<const PlanImpl> tune_now(DeviceState& device, const Workload& problem, const ClassKey& key,
                                           Policy policy);
  /// The plan of the class without measuring: the present one unless `may_replace`.
  std::shared_ptr<const PlanImpl> plan_now(DeviceState& device, const Workload& problem, const ClassKey& key,
                                           Policy policy, bool is_capturing, bool may_replace, Reserve reserve);
  /// True if a measurement could change the plan for `problem`.
  bool is_tunable(DeviceState& device, const Workload& problem) const;
  /// Reserves workspace for captures of `plan`.
  void set_workspace_apart(DeviceState& device, const PlanImpl& plan) const;
  void count(Origin origin);

  ContextOptions options_;
  TuningControl control_;
  PinnedClasses pinned_;
  TuningPlace place_;
  Engine engine_;
  std::atomic<Node*> devices_{nullptr};  // the list only grows
  std::mutex mutex_;
  std::atomic<int> pause_times_{30};
  std::atomic<Clock::duration> least_pause_{std::chrono::seconds(10)};
  std::atomic<std::uint64_t> plans_{0}, tuned_{0}, recorded_{0}, nearest_{0}, estimated_{0}, exchanged_{0};
  BackgroundTuner background_;
};

/// The options with an absolute cache directory, because the process may go to another directory. Throws
/// Error{io_error}.
ContextOptions with_fixed_directory(ContextOptions options);

/// Validates a call. False if there is nothing to do.
bool is_to_launch(const Problem& asked, const Operands& operands);

/// Access to the implementation of a Context, which is not part of the API.
struct ContextAccess {
  static Context::Impl& impl(Context& context) { return *context.impl_; }
};

/// The implementation of `context`, for the command and the tests.
inline auto& impl_of(Context& context) { return ContextAccess::impl(context); }

}  // namespace hotgemm
