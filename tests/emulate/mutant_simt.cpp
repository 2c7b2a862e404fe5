#include "emulate/mutant_kernels.hpp"

#include "emulate/host_function.hpp"

#include "simt.cuh"

#include "emulate/functions/indices.cuh"
#include "emulate/functions/place.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kWide{.op_a = Op::n, .op_b = Op::n};
constexpr GemmTraits kF32{.element = DType::f32, .op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};

constexpr GemmTraits kFp8{.element = DType::e4m3, .element_b = DType::e5m2, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::t, .reads_c = true};
constexpr GemmTraits kS8{.element = DType::s8, .accumulator = DType::s32, .element_d = DType::s32, .op_a = Op::t, .op_b = Op::n, .reads_c = true};

constexpr GemmTraits kTf32{.element = DType::tf32, .element_d = DType::f32, .op_a = Op::t, .op_b = Op::n, .vec_a = 1, .vec_b = 1, .vec_d = 1};

constexpr Epilogue kAll{.scale_a = Scaling::vector, .scale_b = Scaling::tensor, .bias = Bias::per_column, .aux = true, .activation = Activation::relu, .residual = true, .scale_d = true, .scalars = true};
constexpr GemmTraits kFused{.reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = kAll};
constexpr GemmTraits kRowBias{.element = DType::bf16, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.bias = Bias::per_row}};

constexpr GemmTraits kBatch{.reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.residual = true}, .batched = true};
constexpr GemmTraits kPointers{.reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1, .batched = true, .pointers = true};
constexpr GemmTraits kFunction{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.function = kIndices}};
constexpr GemmTraits kFunctionOfBatch{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.function = kIndices}, .batched = true};
constexpr GemmTraits kMax{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.amax = true, .scale_d = true, .function = kPlace}};
constexpr GemmTraits kClamp{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.activation = Activation::clamp, .residual = true, .amax = true}};

constexpr GemmTraits kBackward{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.activation = Activation::drelu}};

constexpr Epilogue kBits{.bias = Bias::per_column, .aux = true, .activation = Activation::relu, .scale_d = true, .bits = true, .bias_gradient = Bias::per_row};
constexpr GemmTraits kWritesBits{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = kBits};
constexpr GemmTraits kReadsBits{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.activation = Activation::drelu, .bits = true}};
constexpr GemmTraits kBitsOfBatch{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.aux = true, .activation = Activation::relu, .bits = true}, .batched = true};

constexpr GemmTraits kGroups{.reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.scale_a = Scaling::vector, .bias = Bias::per_row, .residual = true}, .batched = true, .grouped = true};
constexpr Epilogue kOfGroups{.bias = Bias::per_column, .function = kIndices};
constexpr GemmTraits kMasked{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = kOfGroups, .batched = true, .grouped = true, .masked = true};
constexpr GemmTraits kAlongK{.op_a = Op::t, .op_b = Op::n, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = kOfGroups, .batched = true, .grouped = true, .along_k = true};

constexpr GemmTraits kHalves{.op_b = Op::t, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::halves}};
constexpr GemmTraits kInterleaved{.vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.scale_b = Scaling::vector, .activation = Activation::relu, .gate = Gate::interleaved}};

constexpr GemmTraits kScaledGroups{.element = DType::e4m3, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128}, .batched = true, .grouped = true};
constexpr GemmTraits kScaledAlongK{.element = DType::e4m3, .element_d = DType::bf16, .op_a = Op::t, .op_b = Op::n, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128}, .batched = true, .grouped = true, .along_k = true};
constexpr GemmTraits kScaledBatch{.element = DType::e4m3, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .activation = Activation::relu, .gate = Gate::halves}, .batched = true};

constexpr SimtConfig kSquare{.block_m = 32, .block_n = 32, .block_k = 16, .thread_m = 2, .thread_n = 2};
constexpr SimtConfig kOdd{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};

const GemmKernel kKernels[] = {
    {kSquare, kWide, simt_gemm<kWide, kSquare>},
    {kOdd, kF32, simt_gemm<kF32, kOdd>},
    {kOdd, kFp8, simt_gemm<kFp8, kOdd>},
    {kOdd, kS8, simt_gemm<kS8, kOdd>},
    {kOdd, kTf32, simt_gemm<kTf32, kOdd>},
    {kOdd, kFused, simt_gemm<kFused, kOdd>},
    {kOdd, kRowBias, simt_gemm<kRowBias, kOdd>},
    {kOdd, kBatch, simt_gemm<kBatch, kOdd>},
    {kOdd, kPointers, simt_gemm<kPointers, kOdd>},
    {kOdd, kFunction, simt_gemm<kFunction, kOdd>},
    {kOdd, kMax, simt_gemm<kMax, kOdd>},
    {kOdd, kClamp, simt_gemm<kClamp, kOdd>},
    {kOdd, kBackward, simt_gemm<kBackward, kOdd>},
    {kOdd, kWritesBits, simt_gemm<kWritesBits, kOdd>},
    {kOdd, kReadsBits, simt_gemm<kReadsBits, kOdd>},
    {kOdd, kBitsOfBatch, simt_gemm<kBitsOfBatch, kOdd>},
    {kOdd, kFunctionOfBatch, simt_gemm<kFunctionOfBatch, kOdd>},
    {kOdd, kGroups, simt_gemm<kGroups, kOdd>},
    {kOdd, kMasked, simt_gemm<kMasked, kOdd>},
    {kOdd, kAlongK, simt_gemm<kAlongK, kOdd>},
    {kSquare, kHalves, simt_gemm<kHalves, kSquare>},
    {kSquare, kInterleaved, simt_gemm<kInterleaved, kSquare>},
    {kOdd, kScaledGroups, simt_gemm<kScaledGroups, kOdd>},
    {kOdd, kScaledAlongK, simt_gemm<kScaledAlongK, kOdd>},
    {kSquare, kScaledBatch, simt_gemm<kScaledBatch, kSquare>},
};
// clang-format on

}  // namespace

std::span<const GemmKernel> mutant_kernels() { return kKernels; }

}  // namespace hotgemm::emulate
