#pragma once

#include "ptx/device.hpp"

// Barriers for some of the block's threads. There are sixteen; ptx/barrier.hpp uses number 0 for all threads.

namespace hotgemm::ptx {

/// bar.sync: waits until `threads` threads, this one included, have arrived at `barrier`. `threads` is a multiple of
/// 32.
HOTGEMM_DEVICE void bar_sync(int barrier, int threads) {
  HOTGEMM_PTX("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// bar.arrive: arrives at `barrier` without waiting.
HOTGEMM_DEVICE void bar_arrive(int barrier, int threads) {
  HOTGEMM_PTX("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace hotgemm::ptx
