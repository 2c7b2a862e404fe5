#pragma once

#include "ptx/device.hpp"

// The instructions around wgmma.mma_async, sm_90a. The wrapper of wgmma.mma_async itself is rendered for each kernel
// (src/config/wgmma_instruction.hpp), because the length of its operand list depends on N.

namespace hotgemm::ptx {

/// wgmma.fence: registers written before it may be used as accumulators after it.
HOTGEMM_DEVICE void wgmma_fence() { HOTGEMM_PTX("wgmma.fence.sync.aligned;" ::: "memory"); }
HOTGEMM_DEVICE void wgmma_commit_group() { HOTGEMM_PTX("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most kPending of the most recent groups are still in flight.
template <int kPending>
HOTGEMM_DEVICE void wgmma_wait_group() {
  HOTGEMM_PTX("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Emits no instruction. It keeps the compiler from moving accesses to an accumulator across this point.
HOTGEMM_DEVICE void pin(float& accumulator) { HOTGEMM_PTX("" : "+f"(accumulator)::"memory"); }
HOTGEMM_DEVICE void pin(u32& accumulator) { HOTGEMM_PTX("" : "+r"(accumulator)::"memory"); }

/// Emits no instruction. It tells the compiler that the old value is not used any more, so that no register holds it.
HOTGEMM_DEVICE void forget(float& accumulator) { HOTGEMM_PTX("" : "=f"(accumulator)); }
HOTGEMM_DEVICE void forget(u32& accumulator) { HOTGEMM_PTX("" : "=r"(accumulator)); }

/// setmaxnreg: sets the registers of each thread of this warpgroup, a multiple of 8 from 24 to 256.
template <int kRegisters>
HOTGEMM_DEVICE void setmaxnreg_inc() {
  HOTGEMM_PTX("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
HOTGEMM_DEVICE void setmaxnreg_dec() {
  HOTGEMM_PTX("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace hotgemm::ptx
