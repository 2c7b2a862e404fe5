#pragma once

#include "ptx/device.hpp"

// What stands around wgmma.mma_async, sm_90a. The instruction itself has an operand list as long as N is large: its
// wrapper is rendered for each kernel (src/config/wgmma_instruction.hpp).

namespace hotgemm::ptx {

/// wgmma.fence: registers written before may be accumulators after.
HOTGEMM_DEVICE void wgmma_fence() { HOTGEMM_PTX("wgmma.fence.sync.aligned;" ::: "memory"); }
HOTGEMM_DEVICE void wgmma_commit_group() { HOTGEMM_PTX("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most kPending of the most recent groups are still in flight.
template <int kPending>
HOTGEMM_DEVICE void wgmma_wait_group() {
  HOTGEMM_PTX("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// No instruction: keeps the compiler from moving accesses of an accumulator over what stands around this.
HOTGEMM_DEVICE void pin(float& accumulator) { HOTGEMM_PTX("" : "+f"(accumulator)::"memory"); }
HOTGEMM_DEVICE void pin(u32& accumulator) { HOTGEMM_PTX("" : "+r"(accumulator)::"memory"); }

/// setmaxnreg: how many registers each thread of this warpgroup has from here on, a multiple of 8 from 24 to 256.
template <int kRegisters>
HOTGEMM_DEVICE void setmaxnreg_inc() {
  HOTGEMM_PTX("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
HOTGEMM_DEVICE void setmaxnreg_dec() {
  HOTGEMM_PTX("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace hotgemm::ptx
