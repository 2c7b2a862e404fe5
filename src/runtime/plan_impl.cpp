#include "runtime/plan_impl.hpp"

#include "base/fork_guard.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/context.hpp>

namespace hotgemm {

void PlanImpl::launch(Stream stream, const Problem& p, const Operands& operands) const {
  if (!kernel_->shape.fits(p.m, p.n, p.k)) {
    throw Error(ErrorCode::not_supported, to_string(p) + " is too large for " + to_string(choice_.config));
  }
  const CUresult result = launch_gemm(driver_, *kernel_, choice_.launch, p.m, p.n, p.k, operands, stream);
  if (result != CUDA_SUCCESS) driver_.fail(result, "launch " + to_string(choice_.config) + " for " + to_string(p));
}

void Plan::launch(Stream stream, const Operands& operands) const {
  validate(problem_, operands);
  if (problem_.m == 0 || problem_.n == 0) return;
  const Problem found = describe(problem_, operands);
  if (found.align_a < problem_.align_a || found.align_b < problem_.align_b || found.align_d < problem_.align_d) {
    throw Error(ErrorCode::invalid_argument,
                "operands are aligned as " + to_string(found) + "; the plan is for " + to_string(problem_));
  }
  if (problem_.beta_is_zero != found.beta_is_zero) {  // with beta, the kernel reads C for any value
    throw Error(ErrorCode::invalid_argument, std::string(found.beta_is_zero ? "beta is zero" : "beta is not zero") +
                                                 "; the plan is for " + to_string(problem_));
  }
  if (is_forked_child()) throw Error(ErrorCode::forked, "CUDA cannot be used in a child of fork()");
  impl_->launch(stream, problem_, operands);
}

const Problem& Plan::problem() const { return problem_; }
std::string Plan::config() const { return to_string(impl_->choice().config); }
Origin Plan::origin() const { return impl_->choice().origin; }
double Plan::distance() const { return impl_->choice().distance; }
Resources Plan::resources() const { return impl_->resources(); }

std::string Plan::explain() const {
  const Resources& r = impl_->resources();
  return to_string(problem_) + ": " + to_string(impl_->choice()) + "; " + std::to_string(r.registers) + " registers, " +
         std::to_string(r.spill_bytes) + " bytes spilled, " + std::to_string(r.smem_bytes) +
         " bytes of shared memory, " + std::to_string(r.threads) + " threads";
}

}  // namespace hotgemm
