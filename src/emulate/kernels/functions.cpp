#include "emulate/host_function.hpp"
#include "emulate/kernels/kernel_of.hpp"

// Made by FunctionSource of three sources; a test compares them.
#include "emulate/functions/indices.cuh"
#include "emulate/functions/place.cuh"
#include "emulate/functions/softcap.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kAlone{.function = kIndices};
constexpr Epilogue kChain{.scale_b = Scaling::vector, .bias = Bias::per_column, .aux = true, .residual = true, .amax = true, .scale_d = true, .function = kIndices};
constexpr Epilogue kClamp{.bias = Bias::per_column, .activation = Activation::clamp, .residual = true, .amax = true, .scale_d = true};
constexpr Epilogue kMax{.amax = true, .function = kPlace};
constexpr Epilogue kCap{.bias = Bias::per_row, .function = kSoftcap};

constexpr SimtConfig kSimt{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};
constexpr FmaConfig kFma{.block_m = 32, .block_n = 64, .block_k = 12, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 2, .padded = false, .async_copy = true};
constexpr MmaConfig kMmaStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 2, .store = kStagedStore};
constexpr MmaConfig kMmaDirect{.block_m = 32, .block_n = 48, .block_k = 48, .warps_m = 1, .warps_n = 3, .stages = 5, .swizzle = true, .fragment_buffers = 2, .store = kDirectStore};
constexpr MmaConfig kMmaShuffled{.block_m = 16, .block_n = 48, .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2};
constexpr WgmmaConfig kBulk{.block_m = 128, .block_n = 72, .block_k = 64, .consumers = 2, .stages = 2};
constexpr WgmmaConfig kPingPong{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 2, .ping_pong = true, .stages = 3};
constexpr WgmmaConfig kDown{.block_m = 72, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kDownBytes{.block_m = 24, .block_n = 64, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kSplit{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};

constexpr KernelTypes kF16{DType::f16, DType::f32}, kBf16{DType::bf16, DType::f32}, kF32{DType::f32, DType::f32};
constexpr KernelTypes kFp8{DType::e4m3, DType::f32, DType::e4m3, DType::e4m3}, kF16ToF32{DType::f16, DType::f32, DType::f16, DType::f32};
constexpr KernelTypes kS8ToF32{DType::s8, DType::s32, DType::s8, DType::f32};
// clang-format on

template <KernelTypes kTypes, Epilogue kEpilogue, bool kReadsC, int kVecD, auto kConfig, int kVecAb,
          bool kBatched = false>
GemmKernel kernel() {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_b = Op::t,
                               .reads_c = kReadsC,
                               .vec_a = kVecAb,
                               .vec_b = kVecAb,
                               .vec_d = kVecD,
                               .fast_sums = is_fp8(kTypes.element),
                               .epilogue = kEpilogue,
                               .batched = kBatched};
  return kernel_of<kTraits, kConfig>();
}

}  // namespace

const std::vector<GemmKernel>& function_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, {.activation = Activation::clamp}, false, 1, kSimt, 1>(),
      kernel<kF16, {.amax = true}, false, 1, kSimt, 1>(),
      kernel<kF16, kMax, false, 1, kSimt, 1>(),
      kernel<kF16, kAlone, false, 1, kSimt, 1>(),
      kernel<kBf16, kChain, true, 1, kSimt, 1>(),
      kernel<kF32, kCap, false, 4, kFma, 2>(),
      kernel<kF16, kChain, false, 8, kMmaStaged, 8>(),
      kernel<kBf16, kCap, true, 1, kMmaDirect, 8>(),
      kernel<kF16, kMax, true, 8, kMmaShuffled, 8>(),
      kernel<kF16, kMax, false, 8, kBulk, 8>(),  // pieces that overlap
      kernel<kF16, kClamp, true, 1, kPingPong, 8>(),
      kernel<kBf16, kChain, true, 8, kDown, 8>(),
      kernel<kS8ToF32, kAlone, true, 2, kDownBytes, 16>(),
      kernel<kF16ToF32, kCap, false, 4, kBulk, 8>(),
      kernel<kFp8, kMax, false, 16, kBytes, 16>(),
      kernel<kF16, kChain, true, 8, kSplit, 8>(),
      kernel<kF16, kAlone, false, 1, kSimt, 1, true>(),
      kernel<kF16, kChain, true, 8, kMmaStaged, 8, true>(),
      kernel<kBf16, kAlone, false, 8, kBulk, 8, true>(),
      kernel<kF16, kMax, true, 1, kPingPong, 8, true>(),
  };
  return all;
}

}  // namespace hotgemm::emulate
