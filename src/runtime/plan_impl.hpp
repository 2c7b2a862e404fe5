#pragma once

#include "gpu/gemm_launch.hpp"
#include "plan/choice.hpp"

#include <hotgemm/plan.hpp>

#include <memory>

namespace hotgemm {

/// The object behind the handle Plan: a choice with its loaded kernel. Immutable.
class PlanImpl {
 public:
  PlanImpl(const Driver& driver, unsigned long long context_id, Choice choice, std::shared_ptr<const GemmKernel> kernel,
           Resources resources)
      : driver_(driver),
        context_id_(context_id),
        choice_(std::move(choice)),
        kernel_(std::move(kernel)),
        resources_(resources) {}

  /// Enqueues the kernel. `problem` and `operands` are validated, and m and n are not zero. Throws Error.
  void launch(Stream stream, const Problem& problem, const Operands& operands) const;

  unsigned long long context_id() const { return context_id_; }
  const Driver& driver() const { return driver_; }
  const Choice& choice() const { return choice_; }
  const Resources& resources() const { return resources_; }

 private:
  const Driver& driver_;
  unsigned long long context_id_;
  Choice choice_;
  std::shared_ptr<const GemmKernel> kernel_;
  Resources resources_;
};

}  // namespace hotgemm
