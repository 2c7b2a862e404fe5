#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

/// The inverse of ldmatrix_x4: stores four 8×8 matrices of 16-bit elements. Lanes 8*i .. 8*i+7 hold the row addresses
/// of matrix i. sm_90 and later.
HOTGEMM_DEVICE void stmatrix_x4(u32 shared, const u32 (&r)[4]) {
  HOTGEMM_PTX("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(r[0]), "r"(r[1]),
              "r"(r[2]), "r"(r[3])
              : "memory");
}

/// The inverse of ldmatrix_x4_trans: the same, but each matrix is stored transposed.
HOTGEMM_DEVICE void stmatrix_x4_trans(u32 shared, const u32 (&r)[4]) {
  HOTGEMM_PTX("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(r[0]),
              "r"(r[1]), "r"(r[2]), "r"(r[3])
              : "memory");
}

}  // namespace hotgemm::ptx
