#pragma once

#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <compare>
#include <cstddef>

namespace hotgemm {

/// Device memory that a launch needs beside its operands: scratch, and counters by which blocks find out that they are
/// the last. Counters are 32-bit numbers that are zero before a launch; the kernel leaves them zero.
struct WorkspaceSize {
  std::size_t scratch_bytes = 0;
  std::size_t counters = 0;

  static constexpr std::size_t kAlignment = 256;  ///< of workspace, counters and scratch, as of device allocations

  /// Counters lie before the scratch and fill whole lines of kAlignment bytes.
  constexpr std::size_t counter_bytes() const {
    return (counters * sizeof(unsigned) + kAlignment - 1) / kAlignment * kAlignment;
  }
  constexpr std::size_t total_bytes() const { return counter_bytes() + scratch_bytes; }
  constexpr bool is_empty() const { return scratch_bytes == 0 && counters == 0; }
  /// Whether memory that was made for `this` serves `other`: a counter of one may not be another's scratch.
  constexpr bool holds(const WorkspaceSize& other) const {
    return scratch_bytes >= other.scratch_bytes && counters >= other.counters;
  }
  friend bool operator==(const WorkspaceSize&, const WorkspaceSize&) = default;
};

/// The workspace of any launch for the class of `problem`. Empty where the family takes none, as all of today's.
WorkspaceSize workspace_size(const KernelConfig& config, const LaunchConfig& launch, const Problem& problem);

}  // namespace hotgemm
