#pragma once

#include "base/readers.hpp"
#include "config/workspace.hpp"
#include "gpu/gemm_launch.hpp"
#include "plan/choice.hpp"

#include <hotgemm/plan.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace hotgemm {

class PlanImpl;
class ProblemLog;
class WorkspaceBudget;
class WorkspacePool;

/// The workspace that a plan's kernel needs, and its source. Empty for a kernel that needs none.
struct PlanWorkspace {
  WorkspaceSize size;
  WorkspacePool* pool = nullptr;
  WorkspaceBudget* budget = nullptr;           ///< counts the launches without workspace
  std::shared_ptr<const PlanImpl> without;     ///< plan to launch if no workspace is left; nullptr: such a launch fails
  std::shared_ptr<const RepackKernel> repack;  ///< set if launches copy operands into the workspace first
};

/// The object behind the handle Plan: a choice with its loaded kernel. Immutable, except for counts of launches.
class PlanImpl {
 public:
  /// `note` is the reason why the kernel is not the first choice; empty if it is. Launches are counted in `launches`,
  /// and those of a handle in `problems`.
  PlanImpl(const Driver& driver, unsigned long long context_id, Choice choice, std::shared_ptr<const GemmKernel> kernel,
           PlanWorkspace workspace = {}, std::string note = {}, ThreadCounter* launches = nullptr,
           ProblemLog* problems = nullptr)
      : driver_(driver),
        context_id_(context_id),
        choice_(std::move(choice)),
        kernel_(std::move(kernel)),
        needs_workspace_(!workspace.size.is_empty()),
        workspace_(std::move(workspace)),
        note_(std::move(note)),
        launches_(launches),
        problems_(problems) {}

  /// Enqueues the kernel. `problem` and `operands` are validated, and m and n are not zero. Throws Error.
  void launch(Stream stream, const Workload& problem, const Operands& operands) const;

  /// From now on launches count in `uses`, or no longer. All launches count in Stats::launches.
  void count_uses(bool on) const { counts_uses_.store(on, std::memory_order_relaxed); }
  /// A call of the class counts as a use, although another kernel computes it.
  void count_use() const {
    if (counts_uses_.load(std::memory_order_relaxed)) uses_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t uses() const { return uses_.load(std::memory_order_relaxed); }

  /// The log that counts the launches of a handle; nullptr if there is none.
  ProblemLog* problems() const { return problems_; }

  unsigned long long context_id() const { return context_id_; }
  const Driver& driver() const { return driver_; }
  const Choice& choice() const { return choice_; }
  const Resources& resources() const { return kernel_->resources; }
  const WorkspaceSize& workspace_size() const { return workspace_.size; }
  /// The part of `Plan::explain` about workspace and better choices; empty, or begins with "; ".
  std::string explain_workspace() const;

 private:
  void launch_with_workspace(Stream stream, const Workload& problem, const Operands& operands) const;
  void enqueue(Stream stream, const Workload& problem, const Operands& operands, const WorkspaceArgs& workspace) const;
  std::string missing_workspace() const;
  [[noreturn]] void refuse_size(const Workload& problem) const;
  [[noreturn]] void fail(CUresult result, const Workload& problem) const;
  WorkspaceArgs prepare_given(Stream stream, const Operands& operands) const;

  const Driver& driver_;
  unsigned long long context_id_;
  Choice choice_;
  std::shared_ptr<const GemmKernel> kernel_;
  bool needs_workspace_;
  PlanWorkspace workspace_;
  std::string note_;
  ThreadCounter* launches_;
  ProblemLog* problems_;
  mutable std::atomic<std::uint64_t> launches_without_{0};
  mutable std::atomic<bool> counts_uses_{false};
  mutable std::atomic<std::uint64_t> uses_{0};
};

/// Access to the implementation of a Plan, which is not part of the API.
struct PlanAccess {
  static const PlanImpl& impl(const Plan& plan) { return *plan.impl_; }
};

}  // namespace hotgemm
