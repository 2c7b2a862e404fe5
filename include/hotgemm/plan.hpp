#pragma once

#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hotgemm {

/// The origin of a plan's kernel.
enum class Origin {
  tuned,      ///< measured for this problem class on this GPU model
  nearest,    ///< the record of a similar class, chosen by the model
  estimated,  ///< the model alone
  pinned,     ///< named by the program: Context::pin
};
/// "tuned", "nearest", "estimated", "pinned".
std::string_view to_string(Origin origin);

/// The resources of the GPU that a kernel uses.
struct Resources {
  int registers = 0;      ///< per thread
  int spill_bytes = 0;    ///< stores and loads of spilled registers, as ptxas counts them
  int smem_bytes = 0;     ///< shared memory per block
  int threads = 0;        ///< per block
  double compile_ms = 0;  ///< of its compilation, maybe by an earlier process
};

class PlanImpl;

/// A kernel that is loaded and ready, for one problem class in one CUDA context.
///
/// A cheap handle to shared, immutable state: copy it, keep it, launch it from any thread. It stays usable as long as
/// the Context that made it and the CUDA context live, also if ContextOptions::max_plans has pushed its class out, or
/// Context::forget or reload has replaced it. It may be dropped at any time, after either of them too. A graph that
/// captured a launch needs both alive as well.
class Plan {
 public:
  /// Enqueues D = alpha * op(A) * op(B) + beta * C on `stream`, for the problem that the plan was made for.
  ///
  /// Checks the operands (invalid_argument), then launches: no allocation, no synchronisation, legal during
  /// stream capture. (A plan that needs workspace allocates it at its first launch on a stream that is not being
  /// captured. This launch waits for other threads that allocate workspace, and not for kernels, unless device memory
  /// has run out. All launches of such a plan wait for other threads that are launching one on the same stream. A
  /// captured one takes a lock, which no thread holds while it waits for the GPU.) The
  /// current CUDA context must be the one in which the plan was made; a thread without one gets that of the stream (see
  /// Context). Operands must have the alignment classes of the plan's workload or better ones, and beta must be zero if
  /// and only if the workload's `beta_is_zero` is true. Thread-safe.
  void launch(Stream stream, const Operands& operands) const;

  const Workload& problem() const;  ///< the problem that the plan was made for, with the hints of its operands
  /// The config's name, which `hotgemm show` explains: "mma_m128_n256_…".
  std::string config() const;
  Origin origin() const;  ///< who chose the config
  /// The distance to the recorded class if origin is `nearest`: sqrt of the sum of squared log2 ratios of m, n and k.
  /// The recorded class of a product with scales of blocks may be one without them, and of the same sizes; then it is
  /// 0.
  double distance() const;
  /// The time of cuBLAS's default divided by the time of this kernel, as both were measured when the class was tuned;
  /// above 1, this kernel is faster. 0 if the class's record does not say. Of a fused problem, it is the ratio of the
  /// bare products; with scales of blocks, of the products with them.
  double cublas_ratio() const;
  Resources resources() const;  ///< of the kernel
  /// Bytes of device memory that a launch needs besides the operands. The caller passes them in Operands::workspace.
  /// Otherwise the library provides them: one slab for each stream of a CUDA context, and one for each stream of a
  /// capture, which becomes free when the graph is destroyed. If ContextOptions::workspace_bytes or the GPU leaves no
  /// memory, the launch runs a kernel that needs none; `explain` and Stats::without_workspace count these launches.
  std::size_t workspace_bytes() const;
  /// All the properties above in one line.
  std::string explain() const;

 private:
  friend class Context;
  friend struct PlanAccess;  // for the project's own command
  Plan(std::shared_ptr<const PlanImpl> impl, const Workload& problem) : impl_(std::move(impl)), problem_(problem) {}
  std::shared_ptr<const PlanImpl> impl_;
  Workload problem_;
};

}  // namespace hotgemm
