#pragma once

#include "ptx/mbarrier.hpp"
#include "ptx/trap.hpp"

namespace hotgemm {

/// Waits for the end of the phase. After seconds without it, ends the grid with an error, so that the GPU is free.
HOTGEMM_DEVICE void await(u32 barrier, u32 parity) {
  constexpr int kTries = 1 << 22;  // each try waits for a limited time
  for (int tries = 0; !ptx::mbarrier_try_wait_parity(barrier, parity); ++tries) {
    if (tries == kTries) ptx::trap();
  }
}

}  // namespace hotgemm
