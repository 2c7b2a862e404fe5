#pragma once

#include "command/ceiling.hpp"
#include "context_impl.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "tune/bench.hpp"

#include <hotgemm/context.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm::command {

/// Plans, checks and times one problem after the other in the current CUDA context.
class BenchRun {
 public:
  /// Throws Error{no_compiler…} and, with a baseline, Error{io_error} where there is no cuBLAS.
  BenchRun(const Driver& driver, Context& context, Policy policy, const BenchOptions& options,
           std::int64_t scratch_bytes, bool with_baseline);

  /// One result per timing mode, at least one. What keeps a problem from being measured is its `failure`; only
  /// Error{context_lost} and errors of the driver's own are thrown.
  std::vector<BenchResult> measure(const Workload& problem);
  /// From now on our kernels also race against the highest ceiling. Throws Error, not_supported where there is none.
  void add_ceilings();
  /// What the GPU reaches with the chip to itself: the highest first, none before add_ceilings().
  std::vector<Ceiling>& ceilings() { return ceilings_; }
  CUstream stream() const { return stream_.get(); }

  const DeviceState& device() const { return device_; }
  std::string baseline_version() const;
  bool has_wrong_numbers() const { return has_wrong_numbers_; }
  /// Whether a kernel could not be built, or none was prepared.
  bool has_failed_builds() const { return has_failed_builds_; }

 private:
  std::vector<BenchResult> measure_plan(const Plan& plan);
  std::string check(const Plan& plan, const std::vector<OperandSet>& sets);
  std::vector<BenchResult> race_ours(const Contender& ours, const std::vector<OperandSet>& sets,
                                     const Workload& problem);
  BenchResult race_ours_in(TimingMode mode, const Contender& ours, const std::vector<OperandSet>& sets,
                           const Workload& problem);

  const Driver& driver_;
  Context& context_;
  DeviceState& device_;
  Policy policy_;
  BenchOptions options_;
  std::int64_t scratch_bytes_;
  OwnedStream stream_;
  std::optional<CublasBaseline> cublas_;
  std::vector<Ceiling> ceilings_;
  bool has_wrong_numbers_ = false;
  bool has_failed_builds_ = false;
};

}  // namespace hotgemm::command
