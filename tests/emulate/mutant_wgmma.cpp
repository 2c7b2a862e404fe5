#include "emulate/mutant_kernels.hpp"

#include "emulate/emulated_wgmma.hpp"
#include "emulate/host_function.hpp"

#include "wgmma.cuh"

#include "emulate/functions/indices.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr GemmTraits kWide{.op_a = Op::n, .op_b = Op::n};
constexpr GemmTraits kKMajor{.accumulator = DType::f16, .op_a = Op::n, .op_b = Op::t, .vec_d = 1};
constexpr GemmTraits kTransposed{.op_a = Op::t, .op_b = Op::t, .reads_c = true, .vec_d = 2};
constexpr GemmTraits kReadsC{.op_a = Op::n, .op_b = Op::n, .reads_c = true};
constexpr GemmTraits kRagged{.op_a = Op::n, .op_b = Op::n, .vec_a = 1, .vec_b = 1};
constexpr GemmTraits kRaggedB{.op_a = Op::n, .op_b = Op::t, .vec_a = 8, .vec_b = 1};
constexpr GemmTraits kRaggedWide{.element = DType::bf16, .op_a = Op::t, .op_b = Op::t, .vec_a = 4, .vec_b = 2};
constexpr GemmTraits kOuterMajor{.element = DType::bf16, .op_a = Op::t, .op_b = Op::n, .reads_c = true};
constexpr GemmTraits kFp8{.element = DType::e4m3, .element_b = DType::e5m2, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16};
constexpr GemmTraits kInteger{.element = DType::s8, .accumulator = DType::s32, .element_d = DType::s32, .op_a = Op::n, .op_b = Op::t, .reads_c = true, .vec_a = 16, .vec_b = 16, .vec_d = 2};
constexpr GemmTraits kIntegerInBulk{.element = DType::s8, .accumulator = DType::s32, .element_d = DType::s32, .op_a = Op::n, .op_b = Op::t, .reads_c = true, .vec_a = 16, .vec_b = 16, .vec_d = 4};
constexpr GemmTraits kByteD{.element = DType::s8, .accumulator = DType::s32, .op_a = Op::n, .op_b = Op::t, .reads_c = true, .vec_a = 16, .vec_b = 16, .vec_d = 8};
constexpr GemmTraits kByteDAnywhere{.element = DType::e5m2, .element_d = DType::e4m3, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .vec_d = 1, .fast_sums = true};
constexpr GemmTraits kBytesOfRows{.element = DType::s8, .accumulator = DType::s32, .element_d = DType::s32, .op_a = Op::n, .op_b = Op::n, .vec_a = 16, .vec_b = 16, .vec_d = 4};
constexpr GemmTraits kFp8OfRows{.element = DType::e4m3, .element_d = DType::bf16, .op_a = Op::t, .op_b = Op::t, .vec_a = 16, .vec_b = 16};
constexpr GemmTraits kWordsOfRows{.element = DType::tf32, .element_d = DType::f32, .op_a = Op::t, .op_b = Op::t, .vec_a = 4, .vec_b = 4, .vec_d = 4};
constexpr GemmTraits kTf32{.element = DType::tf32, .element_d = DType::f32, .op_a = Op::n, .op_b = Op::t, .reads_c = true, .vec_a = 4, .vec_b = 4, .vec_d = 1};
constexpr GemmTraits kWideD{.element_d = DType::f32, .op_a = Op::n, .op_b = Op::n, .vec_d = 1};

constexpr GemmTraits kResidual{.op_a = Op::n, .op_b = Op::t, .epilogue = {.bias = Bias::per_column, .residual = true}};
constexpr GemmTraits kTwoMatrices{.op_a = Op::n, .op_b = Op::t, .epilogue = {.activation = Activation::drelu, .residual = true}};
constexpr GemmTraits kByteResidual{.element = DType::s8, .accumulator = DType::s32, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .vec_d = 8, .epilogue = {.residual = true}};

constexpr GemmTraits kBatch{.op_a = Op::n, .op_b = Op::t, .batched = true};
constexpr GemmTraits kFunctionOfBatch{.op_a = Op::n, .op_b = Op::t, .epilogue = {.function = kIndices}, .batched = true};
constexpr GemmTraits kPointers{.op_a = Op::n, .op_b = Op::t, .batched = true, .pointers = true};
constexpr GemmTraits kPointersToRows{.op_a = Op::n, .op_b = Op::n, .batched = true, .pointers = true};
constexpr WgmmaConfig kTwoSlabs{.block_m = 64, .block_n = 128, .block_k = 64, .consumers = 1, .stages = 2};
constexpr GemmTraits kRaggedPointers{.op_a = Op::n, .op_b = Op::n, .vec_a = 1, .vec_b = 1, .vec_d = 1, .batched = true, .pointers = true};
constexpr GemmTraits kRaggedBatch{.op_a = Op::n, .op_b = Op::n, .vec_a = 1, .vec_b = 1, .vec_d = 1, .batched = true};
constexpr GemmTraits kGroups{.op_a = Op::n, .op_b = Op::t, .batched = true, .grouped = true};
constexpr GemmTraits kAlongK{.op_a = Op::t, .op_b = Op::n, .batched = true, .grouped = true, .along_k = true};

constexpr GemmTraits kRaggedD{.op_a = Op::n, .op_b = Op::t, .vec_d = 1};
constexpr WgmmaConfig kTwoStrips{.block_m = 64, .block_n = 256, .block_k = 64, .consumers = 1, .stages = 5};
constexpr WgmmaConfig kShortStrip{.block_m = 128, .block_n = 192, .block_k = 64, .consumers = 1, .stages = 5};
constexpr WgmmaConfig kTransposedStrips{.block_m = 72, .block_n = 128, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
static_assert(kTwoStrips.store_buffers(kRaggedD) == 2 && kShortStrip.store_buffers(kRaggedD) == 2 && kTransposedStrips.store_buffers(kRaggedD) == 4);

constexpr GemmTraits kHalves{.op_a = Op::n, .op_b = Op::t, .epilogue = {.bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::halves}};
constexpr GemmTraits kHalvesOfRows{.op_a = Op::n, .op_b = Op::n, .epilogue = {.activation = Activation::relu, .gate = Gate::halves}};
constexpr GemmTraits kInterleaved{.op_a = Op::n, .op_b = Op::t, .vec_d = 1, .epilogue = {.bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::interleaved}};

constexpr Epilogue kBits{.bias = Bias::per_column, .aux = true, .activation = Activation::relu, .bits = true, .bias_gradient = Bias::per_column};
constexpr GemmTraits kWritesBits{.op_a = Op::n, .op_b = Op::t, .epilogue = kBits};
constexpr GemmTraits kReadsBits{.op_a = Op::n, .op_b = Op::t, .epilogue = {.activation = Activation::drelu, .bits = true}};
constexpr GemmTraits kWritesBitsOfBytes{.element = DType::s8, .accumulator = DType::s32, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .vec_d = 1, .epilogue = kBits};

constexpr GemmTraits kVectors{.op_a = Op::n, .op_b = Op::t, .epilogue = {.scale_a = Scaling::vector, .scale_b = Scaling::vector, .bias = Bias::per_row}};

constexpr Epilogue kBlocks{.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128};
constexpr GemmTraits kScaled{.element = DType::e4m3, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .epilogue = kBlocks};
constexpr GemmTraits kScaledGroups{.element = DType::e4m3, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .epilogue = kBlocks, .batched = true, .grouped = true};
constexpr GemmTraits kScaledMasked{.element = DType::e4m3, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .epilogue = kBlocks, .batched = true, .grouped = true, .masked = true};
constexpr GemmTraits kScaledHalves{.element = DType::e4m3, .element_d = DType::bf16, .op_a = Op::n, .op_b = Op::t, .vec_a = 16, .vec_b = 16, .epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128, .activation = Activation::relu, .gate = Gate::halves}};

constexpr WgmmaConfig kCooperative{.block_m = 128, .block_n = 32, .block_k = 64, .consumers = 2, .stages = 2};
constexpr WgmmaConfig kPingPong{.block_m = 64, .block_n = 24, .block_k = 64, .consumers = 2, .ping_pong = true, .stages = 3};
constexpr WgmmaConfig kOneTile{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 2, .split_n = true, .one_tile = true, .stages = 2};
constexpr WgmmaConfig kBesideEachOther{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 2, .split_n = true, .stages = 2};
constexpr WgmmaConfig kOneTileBelow{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kBelow{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kSquare{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2, .cluster_n = 2};
constexpr WgmmaConfig kManyRows{.block_m = 72, .block_n = 128, .block_k = 64, .consumers = 2, .split_n = true, .stages = 2, .transposed = true};
constexpr WgmmaConfig kFewRows{.block_m = 24, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kSplit{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kSplitWords{.block_m = 64, .block_n = 32, .block_k = 32, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kSplitWide{.block_m = 128, .block_n = 64, .block_k = 64, .consumers = 2, .stages = 2, .cluster_n = 2, .split_k = true};
constexpr WgmmaConfig kLoads{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .loaders = 1};
constexpr WgmmaConfig kWidePart{.block_m = 128, .block_n = 72, .block_k = 64, .consumers = 1, .stages = 2};
constexpr WgmmaConfig kBeside{.block_m = 64, .block_n = 96, .block_k = 64, .consumers = 1, .stages = 3, .cluster_n = 2};
constexpr WgmmaConfig kPromoted{.block_m = 128, .block_n = 32, .block_k = 128, .consumers = 1, .stages = 2, .promote = true};
constexpr WgmmaConfig kPromotedLate{.block_m = 64, .block_n = 32, .block_k = 128, .consumers = 1, .stages = 2, .promote = true};
constexpr WgmmaConfig kPromotedInTwo{.block_m = 64, .block_n = 32, .block_k = 256, .consumers = 2, .ping_pong = true, .stages = 3, .promote = true};
constexpr WgmmaConfig kPromotedLateInTwo{.block_m = 64, .block_n = 32, .block_k = 256, .consumers = 1, .stages = 2, .promote = true};
constexpr WgmmaConfig kPromotedSplitInTwo{.block_m = 64, .block_n = 32, .block_k = 256, .consumers = 1, .stages = 2, .split_k = true, .promote = true};
constexpr WgmmaConfig kPromotedLateRows{.block_m = 24, .block_n = 64, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true, .promote = true};
constexpr WgmmaConfig kPromotedWide{.block_m = 64, .block_n = 192, .block_k = 128, .consumers = 1, .stages = 2, .promote = true};
constexpr WgmmaConfig kPromotedPair{.block_m = 128, .block_n = 32, .block_k = 128, .consumers = 2, .stages = 2, .promote = true};
constexpr WgmmaConfig kPromotedThree{.block_m = 192, .block_n = 48, .block_k = 128, .consumers = 3, .stages = 2, .promote = true};
constexpr WgmmaConfig kPromotedTransposed{.block_m = 24, .block_n = 192, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true, .promote = true};
constexpr WgmmaConfig kOfBytes{.block_m = 64, .block_n = 24, .block_k = 128, .consumers = 1, .stages = 2};
constexpr WgmmaConfig kOfWords{.block_m = 64, .block_n = 24, .block_k = 32, .consumers = 1, .stages = 2};
constexpr WgmmaConfig kManyWords{.block_m = 128, .block_n = 24, .block_k = 32, .consumers = 1, .stages = 2};
constexpr WgmmaConfig kTransposedRows{.block_m = 32, .block_n = 256, .block_k = 128, .consumers = 2, .split_n = true, .stages = 2, .transposed = true};
constexpr WgmmaConfig kWideBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};
constexpr WgmmaConfig kTransposedBytes{.block_m = 24, .block_n = 64, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true};

template <GemmTraits kTraits, WgmmaConfig kConfig>
GemmKernel kernel() {
  using Instruction = EmulatedWgmmaOf<kTraits, kConfig>;
  if constexpr (kConfig.split_k) return {kConfig, kTraits, wgmma_split_gemm<kTraits, kConfig, Instruction>};
  else return {kConfig, kTraits, wgmma_gemm<kTraits, kConfig, Instruction>};
}

const GemmKernel kKernels[] = {
    kernel<kWritesBits, kWidePart>(),
    kernel<kWritesBits, kFewRows>(),
    kernel<kWritesBits, kSplit>(),
    kernel<kReadsBits, kWidePart>(),
    kernel<kReadsBits, kFewRows>(),
    kernel<kReadsBits, kSplit>(),
    kernel<kVectors, kWidePart>(),
    kernel<kVectors, kManyRows>(),
    kernel<kWritesBitsOfBytes, kOfBytes>(),
    kernel<kWide, kCooperative>(),
    kernel<kTf32, kOfWords>(),
    kernel<kKMajor, kPingPong>(),
    kernel<kTransposed, kOneTile>(),
    kernel<kWide, kOneTileBelow>(),
    kernel<kOuterMajor, kBelow>(),
    kernel<kWide, kBeside>(),
    kernel<kOuterMajor, kSquare>(),
    kernel<kKMajor, kSquare>(),
    kernel<kReadsC, kManyRows>(),
    kernel<kKMajor, kFewRows>(),
    kernel<kWide, kFewRows>(),
    kernel<kTransposed, kSplit>(),
    kernel<kKMajor, kSplitWide>(),
    kernel<kKMajor, kWidePart>(),
    kernel<kRaggedD, kTwoStrips>(),
    kernel<kRaggedD, kShortStrip>(),
    kernel<kRaggedD, kTransposedStrips>(),
    kernel<kRagged, kLoads>(),
    kernel<kRaggedB, kLoads>(),
    kernel<kRaggedWide, kLoads>(),
    kernel<kFp8, kPromoted>(),
    kernel<kFp8, kPromotedLate>(),
    kernel<kFp8, kPromotedInTwo>(),
    kernel<kInteger, kOfBytes>(),
    kernel<kInteger, kTransposedBytes>(),
    kernel<kBytesOfRows, kTransposedRows>(),
    kernel<kFp8OfRows, kPromoted>(),
    kernel<kWordsOfRows, kManyWords>(),
    kernel<kWordsOfRows, kSplitWords>(),
    kernel<kWideD, kSplit>(),
    kernel<kIntegerInBulk, kWideBytes>(),
    kernel<kByteD, kWideBytes>(),
    kernel<kByteDAnywhere, kOfBytes>(),
    kernel<kResidual, kWidePart>(),
    kernel<kResidual, kFewRows>(),
    kernel<kResidual, kPingPong>(),
    kernel<kTwoMatrices, kManyRows>(),
    kernel<kResidual, kSplit>(),
    kernel<kByteResidual, kWideBytes>(),
    kernel<kBatch, kWidePart>(),
    kernel<kBatch, kSplit>(),
    kernel<kRaggedBatch, kLoads>(),
    kernel<kPointers, kWidePart>(),
    kernel<kPointersToRows, kTwoSlabs>(),
    kernel<kRaggedPointers, kLoads>(),
    kernel<kFunctionOfBatch, kWidePart>(),
    kernel<kScaledGroups, kPromotedWide>(),
    kernel<kScaledMasked, kPromotedPair>(),
    kernel<kScaledHalves, kPromoted>(),
    kernel<kScaled, kPromotedThree>(),
    kernel<kScaled, kPromotedLate>(),
    kernel<kScaled, kPromotedInTwo>(),
    kernel<kScaled, kPromotedLateInTwo>(),
    kernel<kScaled, kPromotedSplitInTwo>(),
    kernel<kScaled, kPromotedLateRows>(),
    kernel<kScaled, kPromotedTransposed>(),
    kernel<kGroups, kWidePart>(),
    kernel<kGroups, kCooperative>(),
    kernel<kGroups, kBelow>(),
    kernel<kAlongK, kBelow>(),
    kernel<kHalves, kCooperative>(),
    kernel<kHalvesOfRows, kBesideEachOther>(),
    kernel<kInterleaved, kBesideEachOther>(),
};
// clang-format on

}  // namespace

std::span<const GemmKernel> mutant_kernels() { return kKernels; }

}  // namespace hotgemm::emulate
