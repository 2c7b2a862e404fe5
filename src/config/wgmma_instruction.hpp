#pragma once

#include "shared/gemm_types.hpp"

#include <string>

namespace hotgemm {

/// One wgmma.mma_async.m64nNkK. B is in shared memory, and A there or in registers. K are 32 bytes of elements.
struct WgmmaInstruction {
  int n = 256;                     ///< 8 to 256, a multiple of 8; for s8 from 32 on a multiple of 16
  DType element = DType::f16;      ///< the type of A
  DType accumulator = DType::f32;  ///< f32, or f16 for f16 elements; s32 for s8
  DType element_b = element;       ///< any FP8 type if A's is one
  bool a_is_k_major = true;        ///< as are all operands in shared memory of elements of other than 16 bits
  bool b_is_k_major = true;
  bool a_in_registers = false;  ///< for elements of other than 16 bits
};

/// The text of a C++ struct `name` whose one function executes the instruction:
///
///   static void mma_async(float (&d)[n / 2], u64 a, u64 b, bool accumulate)    or, for f16, u32 (&d)[n / 4],
///                                                                             and, for s32, u32 (&d)[n / 2]
///
/// The function computes d = a * b, or d += a * b if `accumulate`; a and b are descriptors
/// (templates/shared/wgmma_descriptor.hpp). With `a_in_registers`, a is of type const u32 (&)[4]: the elements of 16
/// rows in each warp, in the places that mma.sync has for them (templates/shared/fragment.hpp). The struct is rendered
/// as text because the operand list of the instruction names each register, and the number of registers depends on n.
/// Throws Error{internal} if no such instruction exists.
std::string wgmma_text(const WgmmaInstruction& instruction, const std::string& name);

}  // namespace hotgemm
