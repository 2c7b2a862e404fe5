#include "emulate/mutant_kernels.hpp"

#include "fma.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kF32{.element = DType::f32, .op_a = Op::n, .op_b = Op::n, .vec_a = 4, .vec_b = 4, .vec_d = 4};
constexpr GemmTraits kF32C{.element = DType::f32, .op_a = Op::n, .op_b = Op::t, .reads_c = true, .vec_a = 2, .vec_b = 2, .vec_d = 2};
constexpr GemmTraits kSum{.element = DType::f16, .accumulator = DType::f16, .op_a = Op::n, .op_b = Op::n, .vec_a = 8, .vec_b = 8, .vec_d = 1};
constexpr GemmTraits kWords{.element = DType::s8, .accumulator = DType::s32, .element_d = DType::s32, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 4, .vec_d = 4};
constexpr GemmTraits kTf32{.element = DType::tf32, .element_d = DType::f32, .op_a = Op::t, .op_b = Op::t, .vec_a = 2, .vec_b = 2, .vec_d = 1};

// The ring of cp.async, the double buffer, and one stage of pairs; the first two also with words of s8.
constexpr FmaConfig kRing{.block_m = 32, .block_n = 64, .block_k = 12, .thread_m = 4, .thread_n = 8, .stages = 3, .access = 4, .async_copy = true};
constexpr FmaConfig kDouble{.block_m = 32, .block_n = 32, .block_k = 8, .thread_m = 4, .thread_n = 4, .stages = 2, .access = 2};
constexpr FmaConfig kWordRing{.block_m = 32, .block_n = 32, .block_k = 32, .thread_m = 4, .thread_n = 4, .stages = 3, .access = 4, .async_copy = true};
constexpr FmaConfig kWordDouble{.block_m = 32, .block_n = 32, .block_k = 48, .thread_m = 4, .thread_n = 4, .stages = 2, .access = 4};
constexpr FmaConfig kSingle{.block_m = 32, .block_n = 64, .block_k = 16, .thread_m = 8, .thread_n = 8, .stages = 1, .access = 8};

// A as it lies in memory, groups of half an access, and both.
constexpr FmaConfig kUntransposed{.block_m = 32, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 8, .stages = 2, .access = 4, .packed = false, .transposed = false};
constexpr FmaConfig kSplit{.block_m = 32, .block_n = 64, .block_k = 16, .thread_m = 8, .thread_n = 8, .stages = 1, .access = 8, .transposed = false, .group = 4};

// k divided among slices.
constexpr FmaConfig kSlices{.block_m = 4, .block_n = 32, .block_k = 16, .thread_m = 2, .thread_n = 2, .stages = 3, .access = 4, .packed = false, .async_copy = true, .slices = 4};
// Quads: slices of a quarter of a warp, and an odd number of steps in each of two chunks.
constexpr GemmTraits kNt{.element = DType::f32, .op_a = Op::n, .op_b = Op::t, .vec_a = 4, .vec_b = 4, .vec_d = 1};
constexpr FmaConfig kQuads{.block_m = 4, .block_n = 8, .block_k = 64, .thread_m = 2, .thread_n = 2, .stages = 2, .access = 4, .packed = false, .transposed = false, .slices = 8, .quads = true};
constexpr FmaConfig kQuadChunks{.block_m = 32, .block_n = 64, .block_k = 48, .thread_m = 8, .thread_n = 8, .stages = 3, .access = 2, .packed = false, .async_copy = true, .transposed = false, .slices = 2, .quads = true};

const GemmKernel kKernels[] = {
    {kRing, kF32, fma_gemm<kF32, kRing>},
    {kDouble, kF32C, fma_gemm<kF32C, kDouble>},
    {kSingle, kSum, fma_gemm<kSum, kSingle>},
    {kUntransposed, kF32, fma_gemm<kF32, kUntransposed>},
    {kSplit, kSum, fma_gemm<kSum, kSplit>},
    {kWordRing, kWords, fma_gemm<kWords, kWordRing>},
    {kWordDouble, kWords, fma_gemm<kWords, kWordDouble>},
    {kDouble, kTf32, fma_gemm<kTf32, kDouble>},
    {kSlices, kF32, fma_gemm<kF32, kSlices>},
    {kQuads, kNt, fma_gemm<kNt, kQuads>},
    {kQuadChunks, kNt, fma_gemm<kNt, kQuadChunks>},
};
// clang-format on

}  // namespace

std::span<const GemmKernel> mutant_kernels() { return kKernels; }

}  // namespace hotgemm::emulate
