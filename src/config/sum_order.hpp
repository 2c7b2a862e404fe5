#pragma once

#include "config/kernel_config.hpp"
#include "config/launch_config.hpp"
#include "shared/arch_limits.hpp"

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// The units that multiply and add. Each rounds its sums in its own way.
enum class SumUnit : unsigned char {
  cuda_cores,  ///< one product after another
  wmma,        ///< 16 products at a time, by the instruction of this name
  mma,         ///< the products of 32 bytes of k at a time, by `mma`
  wgmma,       ///< the same by `wgmma`
};

/// The order in which a launch adds the products of an element of D. Launches with equal orders give the same bits:
/// tiles, clusters, stages, loads, stores and rasters do not matter, nor whether the product is transposed.
struct SumSequence {
  SumUnit unit;
  int parts = 0;  ///< parts of k that are summed apart, and then added in order; 0 if k is not divided
  /// The length of k-tiles where it matters: k is divided at multiples of it. On CUDA cores zeros are appended up to a
  /// multiple of it, and a zero that is added to a sum of negative zero makes it positive. 0 where it does not matter.
  int step_k = 0;
  // The tile and its warps, if k is divided: they decide which parts a warp adds before the sums of warps are added.
  int block_m = 0;
  int block_n = 0;
  int consumers = 0;
  int promoted_k = 0;  ///< the products of FP8 after which a part of the sum is added to f32; 0 if none is

  friend bool operator==(const SumSequence&, const SumSequence&) = default;
};

/// The order of the sums of `launch`. Any field of a config that changes the order must be considered here; a test
/// lists the fields that do not.
SumSequence sum_sequence(const KernelConfig& config, const LaunchConfig& launch);

/// `problem` with sums in any order.
inline Workload in_any_order(Workload problem) {
  problem.order = SumOrder::any;
  return problem;
}

/// The one order that all batch-invariant kernels for `types` on `arch` have. It depends neither on m nor on alignment,
/// which may follow m.
SumSequence invariant_sequence(const Types& types, const ArchLimits& arch);

/// True if problems of this order and these types may be computed by `launch` of `config` on `arch`. A launch gives the
/// same bits at every repetition, so that only batch invariance excludes some.
bool keeps_order(SumOrder order, const Types& types, const KernelConfig& config, const LaunchConfig& launch,
                 const ArchLimits& arch);

}  // namespace hotgemm
