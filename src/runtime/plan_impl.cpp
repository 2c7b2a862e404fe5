#include "runtime/plan_impl.hpp"

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "config/work.hpp"
#include "gpu/current_context.hpp"
#include "records/problem_log.hpp"
#include "runtime/validate.hpp"
#include "runtime/validate_operands.hpp"
#include "runtime/workspace_pool.hpp"

#include <hotgemm/context.hpp>

namespace hotgemm {
namespace {

/// Throws the reason why `operands`, which are valid, do not fit a plan for `planned`. Not inlined into warm calls.
[[noreturn, gnu::noinline]] void refuse(const Operands& operands, const Workload& planned, const KernelConfig& config) {
  const bool is_zero = hints_of(planned, operands).beta_is_zero;
  if (is_zero != planned.hints.beta_is_zero) {
    throw Error(ErrorCode::invalid_argument,
                std::string(is_zero ? "beta is zero" : "beta is not zero") + "; the plan is for " + to_string(planned));
  }
  if (exceeds_tensor_maps(planned, operands)) {
    throw Error(ErrorCode::not_supported,
                "a leading dimension or a distance is 2^40 bytes or more, which is too large for a tensor map: " +
                    to_string(config) + " cannot compute " + to_string(planned) +
                    "; plan for alignment classes of at most 8 bytes");
  }
  throw Error(ErrorCode::invalid_argument, "operands are aligned as " + to_string(describe(planned, operands)) +
                                               "; the plan is for " + to_string(planned));
}

}  // namespace

void PlanImpl::launch(Stream stream, const Workload& p, const Operands& operands) const {
  if (!kernel_->shape.fits(p.m, p.n, p.k, p.batch, p.groups)) refuse_size(p);
  count_use();
  if (needs_workspace_) return launch_with_workspace(stream, p, operands);
  enqueue(stream, p, operands, {});
}

void PlanImpl::enqueue(Stream stream, const Workload& p, const Operands& operands,
                       const WorkspaceArgs& workspace) const {
  const auto launch = [&] {
    return launch_gemm(driver_, *kernel_, choice_.launch, p.m, p.n, p.k, operands, stream, workspace,
                       workspace_.repack.get(), p.sm_limit, p.batch, p.groups);
  };
  CUresult result = launch();
  if (result == CUDA_ERROR_INVALID_CONTEXT) {  // nothing is enqueued; a thread may have no current context
    PushedContext pushed(driver_);
    pushed.push_context_if_none(stream);
    result = launch();
  }
  if (result != CUDA_SUCCESS) fail(result, p);
  if (launches_ != nullptr) launches_->add_one();
}

void PlanImpl::refuse_size(const Workload& p) const {
  throw Error(ErrorCode::not_supported, to_string(p) + " is too large for " + to_string(choice_.config));
}

void PlanImpl::fail(CUresult result, const Workload& p) const {
  driver_.fail(result, "launch " + to_string(choice_.config) + " for " + to_string(p));
}

void PlanImpl::launch_with_workspace(Stream stream, const Workload& p, const Operands& operands) const {
  if (operands.workspace != nullptr) return enqueue(stream, p, operands, prepare_given(stream, operands));
  if (const auto found = workspace_.pool->find(stream, workspace_.size)) {
    return enqueue(stream, p, operands, found->args);
  }
  if (!workspace_.without)
    throw Error(ErrorCode::out_of_memory, missing_workspace() + ", and there is no kernel that needs none" +
                                              (p.order != SumOrder::any ? " and adds in the same order" : ""));
  workspace_.budget->count_launch_without();
  if (launches_without_++ == 0) {
    log(LogLevel::info, missing_workspace() + ": " + to_string(p) + " runs " + to_string(workspace_.without->choice_));
  }
  workspace_.without->launch(stream, p, operands);
}

std::string PlanImpl::missing_workspace() const {
  return std::to_string(workspace_.size.total_bytes()) + " bytes of workspace for " + to_string(choice_.config) +
         " are not available";
}

/// Clears the counters before each launch, because the caller's memory may hold any values. The pool's counters are
/// cleared by the kernels.
WorkspaceArgs PlanImpl::prepare_given(Stream stream, const Operands& operands) const {
  const WorkspaceSize& size = workspace_.size;
  if (operands.workspace_bytes < size.total_bytes()) {
    throw Error(ErrorCode::invalid_argument, "workspace_bytes is " + std::to_string(operands.workspace_bytes) + "; " +
                                                 to_string(choice_.config) + " needs " +
                                                 std::to_string(size.total_bytes()) + ": see Plan::workspace_bytes");
  }
  const auto address = reinterpret_cast<unsigned long long>(operands.workspace);
  if (address % WorkspaceSize::kAlignment != 0) {
    throw Error(ErrorCode::invalid_argument,
                "workspace is not at a multiple of " + std::to_string(WorkspaceSize::kAlignment) + " bytes");
  }
  if (size.counters > 0) {
    driver_.check(driver_.cuMemsetD32Async(address, 0, size.counters, stream), "clear the counters of a workspace");
  }
  return {.scratch = address + size.counter_bytes(), .counters = address};
}

std::string PlanImpl::explain_workspace() const {
  std::string text;
  if (needs_workspace_) {
    text += "; " + std::to_string(workspace_.size.total_bytes()) + " bytes of workspace";
    if (workspace_.without) text += "; without workspace: " + to_string(workspace_.without->choice_);
    if (launches_without_ > 0) text += " (" + std::to_string(launches_without_) + " launches so far)";
  }
  return note_.empty() ? text : text + "; " + note_;
}

void Plan::launch(Stream stream, const Operands& operands) const {
  if (!has_known_size(operands)) return launch(stream, known_operands(operands));
  validate(problem_, operands);
  if (is_empty(problem_)) return;
  const Hints& planned = problem_.hints;
  const Hints found = hints_of(problem_, operands);
  const bool is_less_aligned =
      found.align_a < planned.align_a || found.align_b < planned.align_b || found.align_d < planned.align_d;
  // With beta, the kernel of a plan reads C for every value of beta.
  if (is_less_aligned || found.beta_is_zero != planned.beta_is_zero) {
    refuse(operands, problem_, impl_->choice().config);
  }
  if (has_lost_cuda()) throw Error(ErrorCode::forked, "CUDA cannot be used in a child of fork()");
  if (ProblemLog* const problems = impl_->problems()) problems->add(problem_);
  PushedContext pushed(impl_->driver());
  // The pool of workspace needs the current context; without workspace, enqueuing tells whether there is one.
  if (!impl_->workspace_size().is_empty()) pushed.push_context_if_none(stream);
  impl_->launch(stream, problem_, operands);
}

const Workload& Plan::problem() const { return problem_; }
std::string Plan::config() const { return to_string(impl_->choice().config); }
Origin Plan::origin() const { return impl_->choice().origin; }
double Plan::distance() const { return impl_->choice().distance; }
double Plan::cublas_ratio() const { return impl_->choice().cublas_ratio; }
Resources Plan::resources() const { return impl_->resources(); }
std::size_t Plan::workspace_bytes() const { return impl_->workspace_size().total_bytes(); }

std::string Plan::explain() const {
  const Resources& r = impl_->resources();
  return to_string(problem_) + ": " + to_string(impl_->choice()) + "; " + std::to_string(r.registers) + " registers, " +
         std::to_string(r.spill_bytes) + " bytes spilled, " + std::to_string(r.smem_bytes) +
         " bytes of shared memory, " + std::to_string(r.threads) + " threads" + impl_->explain_workspace();
}

}  // namespace hotgemm
