#pragma once

#include "ptx/device.hpp"

// Barriers of a part of the block. Of the sixteen, number 0 is the one that ptx/barrier.hpp gives to all threads.

namespace hotgemm::ptx {

/// bar.sync: waits until `threads` threads, a multiple of 32, have come to `barrier`, this one included.
HOTGEMM_DEVICE void bar_sync(int barrier, int threads) {
  HOTGEMM_PTX("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// bar.arrive: comes to `barrier` and goes on.
HOTGEMM_DEVICE void bar_arrive(int barrier, int threads) {
  HOTGEMM_PTX("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace hotgemm::ptx
