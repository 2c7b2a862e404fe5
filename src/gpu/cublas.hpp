#pragma once

#include "gpu/operand_set.hpp"
#include "gpu/stopwatch.hpp"

#include <hotgemm/types.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// A contender that is an algorithm of cuBLASLt, or cuBLAS's default.
struct CublasContender {
  Contender contender;
  std::string algorithm;  ///< the opaque bytes of cublasLtMatmulAlgo_t as hexadecimal digits; empty for the default
};

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

  /// True if only cublasLtMatmul computes `problem`: FP8, s8 with a D of s8, and every epilogue. It may have no
  /// algorithm for it on a GPU.
  static bool is_lt_only(const Problem& problem);
  /// True if cuBLAS computes `problem`. Products of FP8, and of s8 with a D of s8, it computes only without a copy: nt
  /// with n and k in multiples of 16, rows at multiples of 16 bytes, not e5m2 times e5m2. Of epilogues it has those
  /// that lt_epilogue names (gpu/cublas_epilogue.hpp). Batches by pointers it computes without all of these.
  static bool has_rival(const Workload& problem);

  /// cublasGemmEx with CUBLAS_GEMM_DEFAULT or its form for the kind of batch, or if is_lt_only the first of cuBLASLt's
  /// heuristics. It accumulates in f32, and by TF32 or in f16 only if the problem asks for it; s8 with D of s32 in s32.
  /// Alpha and beta have the type of the sums. cublasGemmEx computes in place: if beta is not zero, D holds C. Throws
  /// Error{not_supported} for a problem without rival, Error{internal} if not available.
  Contender default_gemm(const Workload& problem, std::span<const OperandSet> sets, float alpha, float beta);

  /// All algorithms that cublasLtMatmulAlgoGetHeuristic returns for the problem with this workspace and the alignment
  /// of the operands, fastest first by its estimate; empty if there are none. The arithmetic is that of default_gemm,
  /// but C and D are separate. Throws as default_gemm does.
  std::vector<CublasContender> lt_heuristics(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                             float beta);

  /// The algorithm that lt_heuristics once returned as `algorithm`, by the same version of cuBLAS, and under the name
  /// that it had then. nullopt if cuBLASLt refuses it for the problem, or if it needs more workspace.
  std::optional<CublasContender> lt_algorithm(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                              float beta, const std::string& algorithm, const std::string& name);

  struct Impl;
  struct Matmul;

 private:
  int version_number() const;  // 120900 for 12.9.0; 0 if it is not known
  Contender first_heuristic(const Workload& problem, std::span<const OperandSet> sets, float alpha, float beta) const;
  std::shared_ptr<const Matmul> describe(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                         float beta) const;

  std::shared_ptr<Impl> impl_;
  std::string why_not_;
};

}  // namespace hotgemm
