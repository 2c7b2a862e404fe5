#include "emulate/mutant_kernels.hpp"

#include "emulate/host_function.hpp"

#include "mma.cuh"

#include "emulate/functions/place.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kWide{.op_a = Op::n, .op_b = Op::n};
constexpr GemmTraits kTransposed{.op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_a = 4, .vec_b = 2, .vec_d = 2};
constexpr GemmTraits kNarrow{.element = DType::bf16, .op_a = Op::t, .op_b = Op::n, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};
constexpr GemmTraits kKMajor{.accumulator = DType::f16, .op_a = Op::n, .op_b = Op::t, .vec_d = 4};

constexpr GemmTraits kS8{.element = DType::s8, .accumulator = DType::s32, .element_b = DType::s8, .element_d = DType::s32, .op_b = Op::t, .reads_c = true, .vec_a = 4, .vec_b = 16, .vec_d = 1};
constexpr GemmTraits kFp8{.element = DType::e4m3, .element_b = DType::e5m2, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 8, .vec_d = 8};
constexpr GemmTraits kTf32{.element = DType::tf32, .element_b = DType::tf32, .element_d = DType::f32, .op_b = Op::t, .vec_a = 1, .vec_b = 4, .vec_d = 4};

constexpr GemmTraits kS8Rows{.element = DType::s8, .accumulator = DType::s32, .element_b = DType::s8, .element_d = DType::s32, .op_a = Op::t, .op_b = Op::n, .vec_a = 4, .vec_b = 16, .vec_d = 2};
constexpr GemmTraits kFp8Rows{.element = DType::e4m3, .element_b = DType::e5m2, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::n, .vec_a = 8, .vec_b = 4, .vec_d = 8};
constexpr GemmTraits kTf32Rows{.element = DType::tf32, .element_b = DType::tf32, .element_d = DType::f32, .op_a = Op::t, .op_b = Op::n, .vec_a = 2, .vec_b = 1, .vec_d = 1};

constexpr GemmTraits kScaled{.element = DType::e4m3, .element_b = DType::e5m2, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 8, .vec_d = 8, .epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128}};

constexpr GemmTraits kScaledHalves{.element = DType::e4m3, .element_b = DType::e5m2, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 8, .vec_d = 1, .epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .activation = Activation::relu, .gate = Gate::halves}};

constexpr GemmTraits kResidual{.vec_d = 8, .epilogue = {.bias = Bias::per_column, .residual = true}};
constexpr GemmTraits kFusedC{.element = DType::bf16, .reads_c = true, .vec_d = 2, .epilogue = {.aux = true, .activation = Activation::relu}};

constexpr Epilogue kForward{.bias = Bias::per_column, .aux = true, .activation = Activation::relu, .bits = true, .bias_gradient = Bias::per_column};
constexpr GemmTraits kWritesBits{.vec_d = 8, .epilogue = kForward};
constexpr GemmTraits kRowGradient{.vec_d = 1, .epilogue = {.bias_gradient = Bias::per_row}};

constexpr GemmTraits kFunction{.vec_d = 8, .epilogue = {.amax = true, .function = kPlace}};

constexpr GemmTraits kHalves{.op_a = Op::n, .op_b = Op::t, .vec_d = 1, .epilogue = {.activation = Activation::relu, .gate = Gate::halves}};
constexpr GemmTraits kHalvesOfRows{.op_a = Op::n, .op_b = Op::n, .vec_b = 4, .vec_d = 1, .epilogue = {.activation = Activation::relu, .gate = Gate::halves}};
constexpr GemmTraits kKept{.op_a = Op::n, .op_b = Op::t, .vec_d = 2, .epilogue = {.aux = true, .activation = Activation::relu, .gate = Gate::halves}};
constexpr GemmTraits kInterleaved{.op_a = Op::n, .op_b = Op::n, .vec_b = 2, .vec_d = 2, .epilogue = {.aux = true, .activation = Activation::relu, .gate = Gate::interleaved}};

constexpr MmaConfig kBytes{.block_m = 32, .block_n = 32, .block_k = 64, .warps_m = 2, .warps_n = 1, .stages = 3, .fragment_buffers = 2, .store = kDirectStore};
constexpr MmaConfig kWideBytes{.block_m = 32, .block_n = 128, .block_k = 64, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 1, .store = kDirectStore};
constexpr MmaConfig kWords{.block_m = 32, .block_n = 48, .block_k = 16, .warps_m = 1, .warps_n = 3, .stages = 2, .fragment_buffers = 1, .store = kDirectStore};
constexpr MmaConfig kStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .fragment_buffers = 2, .store = kStagedStore};
constexpr MmaConfig kDirect{.block_m = 32, .block_n = 64, .block_k = 64, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 1, .store = kDirectStore};
constexpr MmaConfig kPadded{.block_m = 32, .block_n = 32, .block_k = 32, .warps_m = 2, .warps_n = 1, .stages = 4, .swizzle = false, .fragment_buffers = 1, .store = kStagedStore};
constexpr MmaConfig kDeep{.block_m = 48, .block_n = 32, .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 5, .fragment_buffers = 2, .store = kDirectStore};
constexpr MmaConfig kInTurn{.block_m = 16, .block_n = 48, .block_k = 32, .warps_m = 1, .warps_n = 2, .stages = 1, .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2};
constexpr MmaConfig kPlain{.block_m = 32, .block_n = 32, .block_k = 16, .warps_m = 2, .warps_n = 1, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kShuffledStore, .async_copy = false, .b_matrices = 2, .serpentine = false};

constexpr MmaConfig kRecomputed{.block_m = 32, .block_n = 64, .block_k = 32, .warps_m = 1, .warps_n = 2, .stages = 2, .fragment_buffers = 2, .store = kDirectStore, .recomputes = true};

const GemmKernel kKernels[] = {
    {kStaged, kWide, mma_gemm<kWide, kStaged>},
    {kDirect, kTransposed, mma_gemm<kTransposed, kDirect>},
    {kPadded, kNarrow, mma_gemm<kNarrow, kPadded>},
    {kDeep, kKMajor, mma_gemm<kKMajor, kDeep>},
    {kInTurn, kWide, mma_gemm<kWide, kInTurn>},
    {kPlain, kKMajor, mma_gemm<kKMajor, kPlain>},
    {kBytes, kS8, mma_gemm<kS8, kBytes>},
    {kBytes, kFp8, mma_gemm<kFp8, kBytes>},
    {kWords, kTf32, mma_gemm<kTf32, kWords>},
    {kWideBytes, kS8Rows, mma_gemm<kS8Rows, kWideBytes>},
    {kBytes, kScaled, mma_gemm<kScaled, kBytes>},
    {kWideBytes, kScaledHalves, mma_gemm<kScaledHalves, kWideBytes>},
    {kBytes, kFp8Rows, mma_gemm<kFp8Rows, kBytes>},
    {kWords, kTf32Rows, mma_gemm<kTf32Rows, kWords>},
    {kRecomputed, kTransposed, mma_gemm<kTransposed, kRecomputed>},
    {kInTurn, kResidual, mma_gemm<kResidual, kInTurn>},
    {kDirect, kFusedC, mma_gemm<kFusedC, kDirect>},
    {kStaged, kFunction, mma_gemm<kFunction, kStaged>},
    {kStaged, kWritesBits, mma_gemm<kWritesBits, kStaged>},
    {kDirect, kRowGradient, mma_gemm<kRowGradient, kDirect>},
    {kStaged, kHalves, mma_gemm<kHalves, kStaged>},
    {kDirect, kKept, mma_gemm<kKept, kDirect>},
    {kDirect, kHalvesOfRows, mma_gemm<kHalvesOfRows, kDirect>},
    {kStaged, kInterleaved, mma_gemm<kInterleaved, kStaged>},
};
// clang-format on

}  // namespace

std::span<const GemmKernel> mutant_kernels() { return kKernels; }

}  // namespace hotgemm::emulate
