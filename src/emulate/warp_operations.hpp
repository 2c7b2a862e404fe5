#pragma once

#include "emulate/instruction.hpp"
#include "emulate/warp.hpp"
#include "shared/gemm_types.hpp"

#include <cstdint>

namespace hotgemm::emulate {

// Instructions that the lanes of a warp execute together, for the running thread. The layouts of fragments are written
// here after the figures of the PTX ISA, not taken from templates/shared. So an error of a kernel in a layout is not
// repeated here.

/// Called when the running thread reaches an instruction of its whole warp. A warp of fewer than 32 lanes is reported.
void meet_all_lanes(Instruction instruction, void* operands, Warp::Execute execute);

/// ldmatrix.x2, ldmatrix.x4: lanes 8i … 8i+7 give the addresses of the rows of matrix i.
void ldmatrix(Instruction instruction, std::uint32_t (&r)[2], std::uint32_t shared);
void ldmatrix(Instruction instruction, std::uint32_t (&r)[4], std::uint32_t shared);
/// stmatrix.x4, with or without .trans: the inverse of ldmatrix.
void stmatrix(Instruction instruction, std::uint32_t shared, const std::uint32_t (&r)[4]);

/// mma.m16n8k16 with f32 accumulators. Products are exact; their sum with the accumulator is computed in f64 and
/// rounded to f32 once. Tensor cores round in another, unspecified way; with integers both are exact.
void mma_m16n8k16(Instruction instruction, float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                  std::uint32_t b1);
/// mma.m16n8k16 with f16 accumulators; their sum is rounded to f16 once.
void mma_m16n8k16(Instruction instruction, std::uint32_t (&d)[2], const std::uint32_t (&a)[4], std::uint32_t b0,
                  std::uint32_t b1);

/// mma.m16n8k32 for s8, whose sums wrap; for two types of FP8; and mma.m16n8k8 for TF32, which leaves out the last 13
/// bits of an f32. The sums of the latter are those of mma.m16n8k16.
void mma_m16n8k32_s8(int (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
void mma_m16n8k32_fp8(DType type_a, DType type_b, float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                      std::uint32_t b1);
void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

/// shfl.sync: returns `value` of the lane that `b` and `c` select, as in the pseudo-code of the PTX ISA.
std::uint32_t shfl_sync(Instruction instruction, std::uint32_t value, std::uint32_t b, std::uint32_t c,
                        std::uint32_t members);

/// vote.sync.ballot: a bit for each member whose predicate is true.
std::uint32_t vote_sync(Instruction instruction, bool predicate, std::uint32_t members);

/// elect.sync of a whole warp: true for one lane, always the same. The seed of the run draws the lane.
bool elect_sync();

/// bar.warp.sync: after it, all members see everything that a member did before it.
void bar_warp_sync(std::uint32_t members);

/// bar.sync `id`, `threads`. With 0 threads, all threads of the block take part.
void bar_sync(int id, int threads);
void bar_arrive(int id, int threads);

}  // namespace hotgemm::emulate
