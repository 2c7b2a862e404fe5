#include "emulate/mutant_kernels.hpp"

#include "mma.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kWide{.op_a = Op::n, .op_b = Op::n};
constexpr GemmTraits kTransposed{.op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_a = 4, .vec_b = 2, .vec_d = 2};
constexpr GemmTraits kNarrow{.element = DType::bf16, .op_a = Op::t, .op_b = Op::n, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};
constexpr GemmTraits kKMajor{.accumulator = DType::f16, .op_a = Op::n, .op_b = Op::t, .vec_d = 4};

constexpr MmaConfig kStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .fragment_buffers = 2, .store = kStagedStore};
constexpr MmaConfig kDirect{.block_m = 32, .block_n = 64, .block_k = 64, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 1, .store = kDirectStore};
constexpr MmaConfig kPadded{.block_m = 32, .block_n = 32, .block_k = 32, .warps_m = 2, .warps_n = 1, .stages = 4, .swizzle = false, .fragment_buffers = 1, .store = kStagedStore};
constexpr MmaConfig kDeep{.block_m = 48, .block_n = 32, .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 5, .fragment_buffers = 2, .store = kDirectStore};
constexpr MmaConfig kInTurn{.block_m = 16, .block_n = 48, .block_k = 32, .warps_m = 1, .warps_n = 2, .stages = 1, .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2};
constexpr MmaConfig kPlain{.block_m = 32, .block_n = 32, .block_k = 16, .warps_m = 2, .warps_n = 1, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kShuffledStore, .async_copy = false, .b_matrices = 2, .serpentine = false};

const GemmKernel kKernels[] = {
    {kStaged, kWide, mma_gemm<kWide, kStaged>},
    {kDirect, kTransposed, mma_gemm<kTransposed, kDirect>},
    {kPadded, kNarrow, mma_gemm<kNarrow, kPadded>},
    {kDeep, kKMajor, mma_gemm<kKMajor, kDeep>},
    {kInTurn, kWide, mma_gemm<kWide, kInTurn>},
    {kPlain, kKMajor, mma_gemm<kKMajor, kPlain>},
};
// clang-format on

}  // namespace

std::span<const GemmKernel> mutant_kernels() { return kKernels; }

}  // namespace hotgemm::emulate
