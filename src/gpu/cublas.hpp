#pragma once

#include "gpu/operand_set.hpp"
#include "gpu/stopwatch.hpp"

#include <hotgemm/types.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// The baseline that hotgemm is compared with: cuBLAS and cuBLASLt, loaded by dlopen (libcublas.so.13 or 12, and
/// libcublasLt of the same version; HOTGEMM_LIBCUBLAS and HOTGEMM_LIBCUBLASLT name other files).
///
/// Both get one workspace of 256 MiB. cuBLAS uses as much of it as its heuristic asks for, and never more; without it
/// cuBLAS would use its own pool (32 MiB on Hopper). Contenders are launched on one stream at a time, because they
/// share the workspace. Contenders keep alive all that they need and may outlive the baseline. Not thread-safe.
class CublasBaseline {
 public:
  /// Loads the libraries and makes their handles in the current context. If that fails, the baseline is not available;
  /// only Error{context_lost} is thrown.
  explicit CublasBaseline(const Driver& driver);

  bool available() const { return impl_ != nullptr; }
  /// The reason why the baseline is not available; empty if it is.
  const std::string& why_not() const { return why_not_; }
  /// The version, such as "13.1.0"; empty if not available.
  std::string version() const;

  /// cublasGemmEx with CUBLAS_GEMM_DEFAULT. It accumulates in f32 without TF32, or in f16 if the problem asks for it,
  /// with alpha and beta in the accumulator's type. cuBLAS computes in place: if beta is not zero, D holds C. Throws
  /// Error{not_supported} for a problem that cuBLAS cannot compute, Error{internal} if not available.
  Contender default_gemm(const Workload& problem, std::span<const OperandSet> sets, float alpha, float beta);

  /// All algorithms that cublasLtMatmulAlgoGetHeuristic returns for the problem with this workspace and the alignment
  /// of the operands, fastest first by its estimate; empty if there are none. The arithmetic is that of default_gemm,
  /// but C and D are separate. Throws as default_gemm does.
  std::vector<Contender> lt_heuristics(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                       float beta);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
  std::string why_not_;
};

}  // namespace hotgemm
