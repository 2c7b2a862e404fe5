#pragma once

#include "emulate/counters.hpp"
#include "emulate/finding.hpp"
#include "emulate/global_memory.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace hotgemm::emulate {

/// How a kernel is launched.
struct LaunchShape {
  std::uint32_t blocks = 1;
  int threads_per_block = 32;
  int shared_bytes = 0;                  ///< dynamic shared memory per block
  std::uint32_t blocks_per_cluster = 1;  ///< divides `blocks`
  std::uint64_t seed = 1;                ///< of every choice: the order of blocks and threads, the moments of copies
};

/// What came of a launch.
struct LaunchReport {
  std::vector<Finding> findings;  ///< empty for a good kernel
  Counters counters;
};

/// An emulated GPU: memory, and kernels that run in it. Not thread-safe; several can be used at once.
class Device {
 public:
  GlobalMemory& memory() { return memory_; }

  /// Runs `kernel` once per thread, each on a fiber of its own, and returns when all have ended or are stuck. A kernel
  /// that does no more than its findings say goes on; one that never suspends itself nor ends is not noticed.
  /// Throws Error{invalid_argument} for a shape that no GPU takes.
  LaunchReport launch(const LaunchShape& shape, const std::function<void()>& kernel);

 private:
  GlobalMemory memory_;
};

}  // namespace hotgemm::emulate
