#include "emulate/mutant_kernels.hpp"

#include "wmma.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kWide{.op_a = Op::n, .op_b = Op::n};
constexpr GemmTraits kSums{.accumulator = DType::f16, .op_a = Op::n, .op_b = Op::t, .reads_c = true};
constexpr GemmTraits kTransposed{.op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_a = 4, .vec_b = 2, .vec_d = 4};
constexpr GemmTraits kNarrow{.element = DType::bf16, .op_a = Op::t, .op_b = Op::n, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};

constexpr WmmaConfig kBuffered{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3};
constexpr WmmaConfig kFlat{.block_m = 32, .block_n = 64, .block_k = 48, .warps_m = 2, .warps_n = 1, .fragment_m = 8, .stages = 2};
constexpr WmmaConfig kByTurns{.block_m = 32, .block_n = 32, .block_k = 16, .warps_m = 2, .warps_n = 1, .async_copy = false};
constexpr WmmaConfig kTall{.block_m = 64, .block_n = 32, .block_k = 16, .warps_m = 1, .warps_n = 2, .fragment_m = 32};

constexpr WmmaConfig kDirect{.block_m = 32, .block_n = 16, .block_k = 32, .warps_m = 2, .warps_n = 1, .stages = 0, .async_copy = false};

const GemmKernel kKernels[] = {
    {kBuffered, kWide, wmma_gemm<kWide, kBuffered>},
    {kFlat, kSums, wmma_gemm<kSums, kFlat>},
    {kByTurns, kTransposed, wmma_gemm<kTransposed, kByTurns>},
    {kTall, kNarrow, wmma_gemm<kNarrow, kTall>},
    {kByTurns, kWide, wmma_gemm<kWide, kByTurns>},
    {kTall, kWide, wmma_gemm<kWide, kTall>},
    {kDirect, kWide, wmma_gemm<kWide, kDirect>},
};
// clang-format on

}  // namespace

std::span<const GemmKernel> mutant_kernels() { return kKernels; }

}  // namespace hotgemm::emulate
