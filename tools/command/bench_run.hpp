#pragma once

#include "command/bench_operands.hpp"
#include "command/ceiling.hpp"
#include "context_impl.hpp"
#include "gpu/stream.hpp"
#include "tune/bench.hpp"

#include <hotgemm/context.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm::command {

/// Plans, checks and times problems, one after the other, in the current CUDA context.
class BenchRun {
 public:
  /// Throws Error{no_compiler…}. With a baseline, also throws Error{io_error} if there is no cuBLAS.
  BenchRun(const Driver& driver, Context& context, Policy policy, const BenchOptions& options,
           std::int64_t scratch_bytes, bool with_baseline);

  /// Returns one result per timing mode, at least one. If a problem cannot be measured, its `failure` says why. Only
  /// Error{context_lost} and errors of the driver itself are thrown.
  std::vector<BenchResult> measure(const Workload& problem);
  /// Makes later measurements also race our kernels against the highest ceiling. Throws Error{not_supported} if the GPU
  /// has none, and other errors.
  void add_ceilings();
  /// The ceilings of the GPU, each alone on the chip, the highest first. Empty before add_ceilings().
  std::vector<Ceiling>& ceilings() { return ceilings_; }
  CUstream stream() const { return stream_.get(); }

  const DeviceState& device() const { return device_; }
  std::string baseline_version() const;
  bool has_wrong_numbers() const { return has_wrong_numbers_; }
  /// True if a kernel could not be built, or if none was prepared.
  bool has_failed_builds() const { return has_failed_builds_; }

 private:
  std::vector<BenchResult> measure_plan(const Plan& plan, const std::optional<Plan>& bare);
  /// Says what is wrong with the results of the kernels; empty if nothing is.
  std::string check(const Plan& plan, const std::optional<Plan>& bare, BenchOperands& operands);
  void fill_normal(const Workload& problem, BenchOperands& operands);
  bool has_rival(const Workload& problem, std::span<const OperandSet> sets, float beta);
  std::vector<BenchResult> race_ours(const Contender& ours, std::span<const OperandSet> sets, const Workload& problem,
                                     const BenchOptions& bench);

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
