#pragma once

#include "emulate/warp_operations.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void stmatrix_x4(u32 shared, const u32 (&r)[4]) {
  emulate::stmatrix(emulate::Instruction::stmatrix_x4, shared, r);
}
HOTGEMM_DEVICE void stmatrix_x4_trans(u32 shared, const u32 (&r)[4]) {
  emulate::stmatrix(emulate::Instruction::stmatrix_x4_trans, shared, r);
}

}  // namespace hotgemm::ptx
