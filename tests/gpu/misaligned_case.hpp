#pragma once

#include "gpu/gemm_case.hpp"

#include <cstdint>

namespace hotgemm {

/// A case with ragged rows. A begins `offset` elements behind a multiple of 16 bytes, and B 7 - `offset`; `layout`
/// counts nn, nt, tn, tt, and alternates between f16 and bf16.
inline GemmCase misaligned_case(std::int64_t k, int layout, int offset) {
  GemmCase c;
  c.problem = {.m = 131, .n = 77, .k = k};
  c.problem.types = uniform_types(layout % 2 == 0 ? DType::f16 : DType::bf16, ComputeType::f32);
  c.problem.op_a = layout / 2 == 0 ? Op::n : Op::t;
  c.problem.op_b = layout % 2 == 0 ? Op::n : Op::t;
  c.set_tight_ld(1);
  c.lda += offset % 3;  // gaps between rows
  c.offset_a = offset;
  c.offset_b = 7 - offset;
  return c;
}

}  // namespace hotgemm
