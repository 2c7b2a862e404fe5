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

/// The place of a consumer, which takes a slot of another ring with each stage.
template <int kStages, int kSlots>
struct ConsumerCursor : StageCursor<kStages> {
  StageCursor<kSlots> slot;
  HOTGEMM_DEVICE void advance() {
    StageCursor<kStages>::advance();
    slot.advance();
  }
  HOTGEMM_DEVICE void advance(u32 by) {
    StageCursor<kStages>::advance(by);
    slot.advance(by);
  }
};
template <int kStages>
struct ConsumerCursor<kStages, 0> : StageCursor<kStages> {};

}  // namespace hotgemm
