#pragma once

#include "ptx/convert.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

/// A thread's four elements of one instruction's 16×8 result.
template <DType kType>
struct MmaAccumulator {
  static_assert(kType == DType::f32);
  float d[4] = {0, 0, 0, 0};
  HOTGEMM_DEVICE float get(int i) const { return d[i]; }
};
template <>
struct MmaAccumulator<DType::s32> {
  int d[4] = {0, 0, 0, 0};
  HOTGEMM_DEVICE int get(int i) const { return d[i]; }
};
template <>
struct MmaAccumulator<DType::f16> {
  u32 d[2] = {0, 0};
  HOTGEMM_DEVICE float get(int i) const { return ptx::cvt_f32_f16(static_cast<u16>(d[i / 2] >> (i % 2 * 16))); }
};

}  // namespace hotgemm
