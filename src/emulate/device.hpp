#pragma once

#include "emulate/counters.hpp"
#include "emulate/finding.hpp"
#include "emulate/global_memory.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace hotgemm::emulate {

/// The parameters of a launch.
struct LaunchShape {
  std::uint32_t blocks = 1;
  int threads_per_block = 32;
  int shared_bytes = 0;                  ///< dynamic shared memory per block
  std::uint32_t blocks_per_cluster = 1;  ///< divides `blocks`
  std::uint64_t seed = 1;                ///< for all choices: order of blocks and threads, moments of copies
  bool counts_accesses = false;          ///< also the banks of loads and stores, which takes time
};

/// The result of a launch.
struct LaunchReport {
  std::vector<Finding> findings;  ///< empty for a good kernel
  Counters counters;
};

/// An emulated GPU: memory, and kernels that run in it. Not thread-safe; several devices may be used at once.
class Device {
 public:
  GlobalMemory& memory() { return memory_; }

  /// Runs `kernel` once per thread, each on its own fiber, and returns when all threads have ended or are stuck. A
  /// kernel continues after a finding. A kernel that runs for ever without suspending itself is not detected. Throws
  /// Error{invalid_argument} for a shape that no GPU accepts.
  LaunchReport launch(const LaunchShape& shape, const std::function<void()>& kernel);

 private:
  GlobalMemory memory_;
};

}  // namespace hotgemm::emulate
