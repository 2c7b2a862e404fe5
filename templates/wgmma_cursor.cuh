#pragma once

#include "ptx/device.hpp"

namespace hotgemm {

/// A place in the ring of stages. The parity is that of the pass through the ring.
template <int kStages>
struct StageCursor {
  u32 stage = 0;
  u32 parity = 0;
  HOTGEMM_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  HOTGEMM_DEVICE void advance(u32 by) {
    stage += by;
    parity ^= stage / kStages & 1;
    stage %= kStages;
  }
};

}  // namespace hotgemm
