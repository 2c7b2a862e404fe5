#pragma once

#include "emulate/warpgroup.hpp"
#include "ptx/device.hpp"

#include <bit>

namespace hotgemm::ptx {

HOTGEMM_DEVICE void wgmma_fence() { emulate::wgmma_fence(); }
HOTGEMM_DEVICE void wgmma_commit_group() { emulate::wgmma_commit_group(); }
template <int kPending>
HOTGEMM_DEVICE void wgmma_wait_group() {
  emulate::wgmma_wait_group(kPending);
}

HOTGEMM_DEVICE void pin(float& accumulator) { static_cast<void>(accumulator); }
HOTGEMM_DEVICE void pin(u32& accumulator) { static_cast<void>(accumulator); }

HOTGEMM_DEVICE void forget(u32& accumulator) { accumulator = 0x7fffdeadu; }
HOTGEMM_DEVICE void forget(float& accumulator) { accumulator = std::bit_cast<float>(0x7fffdeadu); }

template <int kRegisters>
HOTGEMM_DEVICE void setmaxnreg_inc() {
  emulate::setmaxnreg(kRegisters);
}
template <int kRegisters>
HOTGEMM_DEVICE void setmaxnreg_dec() {
  emulate::setmaxnreg(kRegisters);
}

}  // namespace hotgemm::ptx
