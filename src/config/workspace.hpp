#pragma once

#include "config/kernel_config.hpp"
#include "config/launch_shape.hpp"

#include <hotgemm/types.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>

namespace hotgemm {

/// The size of the device memory that a launch needs besides its operands: scratch, and counters, which tell a block
/// that it is the last. Counters are 32-bit numbers that are zero before a launch; the kernel leaves them zero.
struct WorkspaceSize {
  std::size_t scratch_bytes = 0;
  std::size_t counters = 0;

  static constexpr std::size_t kAlignment = 256;  ///< of workspace, counters and scratch; device allocations have it

  /// Counters lie before the scratch and fill whole lines of kAlignment bytes.
  constexpr std::size_t counter_bytes() const {
    return (counters * sizeof(unsigned) + kAlignment - 1) / kAlignment * kAlignment;
  }
  constexpr std::size_t total_bytes() const { return counter_bytes() + scratch_bytes; }
  constexpr bool is_empty() const { return scratch_bytes == 0 && counters == 0; }
  /// True if memory that was made for `this` can be used for `other`. Scratch cannot replace missing counters, because
  /// scratch is not zero.
  constexpr bool holds(const WorkspaceSize& other) const {
    return scratch_bytes >= other.scratch_bytes && counters >= other.counters;
  }
  friend bool operator==(const WorkspaceSize&, const WorkspaceSize&) = default;
};

/// The workspace of a launch whose blocks divide k: a slot for each of `splits` parts of a block's tile, and counters
/// of its arrivals and of each part's owner (templates/shared/split_slots.hpp). m and n are at least 1. A batch has as
/// much for each product.
WorkspaceSize split_workspace(const LaunchShape& shape, std::int64_t m, std::int64_t n, int splits,
                              std::int64_t batch = 1);

/// The workspace of a launch for `problem`; where blocks divide k, for all launches of its class. WorkspaceOf
/// (plan/affordable.hpp) asks with the largest sizes of the class. The scratch begins with the copies of repacked
/// operands (config/repack.hpp), and the kernel's own scratch follows.
WorkspaceSize workspace_size(const KernelConfig& config, const LaunchConfig& launch, const Problem& problem);

}  // namespace hotgemm
