#pragma once

#include "gpu/operand_set.hpp"
#include "gpu/stopwatch.hpp"

#include <hotgemm/types.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// What hotgemm is measured against: cuBLAS and cuBLASLt, dlopened (libcublas.so.13 or 12 and libcublasLt of the same
/// name; HOTGEMM_LIBCUBLAS and HOTGEMM_LIBCUBLASLT name others).
///
/// Both get one workspace of 256 MiB. cuBLAS uses as much of it as its heuristic asks for, and never more; without it
/// cuBLAS would fall back on its own pool (32 MiB on Hopper). Contenders are launched on one stream at a time, because
/// they share the workspace. They keep what they need alive and may outlive the baseline. Not thread-safe.
class CublasBaseline {
 public:
  /// Loads the libraries and makes their handles in the current context. If that fails the baseline is not available,
  /// which is no exception; Error{context_lost} is.
  explicit CublasBaseline(const Driver& driver);

  bool available() const { return impl_ != nullptr; }
  /// Why it is not available; empty if it is.
  const std::string& why_not() const { return why_not_; }
  /// "13.1.0"; empty if not available.
  std::string version() const;

  /// cublasGemmEx with CUBLAS_GEMM_DEFAULT. Accumulates in f32 without TF32, or in f16 where the problem says so, with
  /// alpha and beta in the accumulator's type. cuBLAS computes in place: where beta is not zero, C is what D holds.
  /// Throws Error{not_supported} for a problem that cuBLAS has no call for, Error{internal} if not available.
  Contender default_gemm(const Workload& problem, std::span<const OperandSet> sets, float alpha, float beta);

  /// All algorithms that cublasLtMatmulAlgoGetHeuristic returns for the problem within the workspace and the alignment
  /// of the operands, fastest first by its estimate; empty if it knows none. Same arithmetic as default_gemm, with C
  /// and D apart. Throws as default_gemm does.
  std::vector<Contender> lt_heuristics(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                       float beta);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
  std::string why_not_;
};

}  // namespace hotgemm
