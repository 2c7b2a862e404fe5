#include "config/families.hpp"
#include "emulate/emulated_wgmma.hpp"
#include "emulate/gemm_kernel.hpp"

#include "wgmma.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kAll{.scale_a = Scaling::vector, .scale_b = Scaling::vector, .bias = Bias::per_column, .aux = true, .activation = Activation::relu, .residual = true, .scale_d = true, .scalars = true};
constexpr Epilogue kLayer{.bias = Bias::per_column, .activation = Activation::gelu};
constexpr Epilogue kBackward{.scale_a = Scaling::vector, .bias = Bias::per_row, .activation = Activation::drelu, .residual = true};
constexpr Epilogue kRows{.scale_a = Scaling::vector, .bias = Bias::per_row, .activation = Activation::silu, .residual = true};
constexpr Epilogue kBias{.bias = Bias::per_column, .activation = Activation::relu};
constexpr Epilogue kTensors{.scale_a = Scaling::tensor, .scale_b = Scaling::tensor, .bias = Bias::per_column, .activation = Activation::relu, .scale_d = true};

constexpr WgmmaConfig kBulk{.block_m = 128, .block_n = 72, .block_k = 64, .consumers = 2, .stages = 2};  // the last piece of 64 columns overlaps
constexpr WgmmaConfig kPingPong{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 2, .ping_pong = true, .stages = 3};
constexpr WgmmaConfig kOneTile{.block_m = 64, .block_n = 80, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 2};
constexpr WgmmaConfig kDown{.block_m = 72, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kDownBytes{.block_m = 24, .block_n = 64, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kSplit{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kLoads{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .loaders = 1};
constexpr WgmmaConfig kStrips{.block_m = 64, .block_n = 160, .block_k = 64, .consumers = 1, .stages = 2, .blocks_per_sm = 2};
constexpr WgmmaConfig kBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};

constexpr KernelTypes kF16Types{DType::f16, DType::f32}, kBf16Types{DType::bf16, DType::f32}, kF16ToF32{DType::f16, DType::f32, DType::f16, DType::f32};
constexpr KernelTypes kFp8{DType::e4m3, DType::f32, DType::e4m3, DType::e4m3}, kS8ToBf16{DType::s8, DType::s32, DType::s8, DType::bf16};
constexpr KernelTypes kS8ToF32{DType::s8, DType::s32, DType::s8, DType::f32};
// clang-format on

template <KernelTypes kTypes, Epilogue kEpilogue, bool kReadsC, int kVecD, WgmmaConfig kConfig, int kVecAb = 0>
GemmKernel kernel() {
  constexpr int kWidest = 16 / size_bytes(kTypes.element);
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_b = Op::t,
                               .reads_c = kReadsC,
                               .vec_a = kVecAb == 0 ? kWidest : kVecAb,
                               .vec_b = kVecAb == 0 ? kWidest : kVecAb,
                               .vec_d = kVecD,
                               .fast_sums = is_fp8(kTypes.element),
                               .epilogue = kEpilogue};
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
  using Instruction = EmulatedWgmmaOf<kTraits, kConfig>;
  if constexpr (kConfig.split_k) {
    return {kConfig, kTraits, wgmma_split_gemm<kTraits, kConfig, Instruction>};
  } else {
    return {kConfig, kTraits, wgmma_gemm<kTraits, kConfig, Instruction>};
  }
}

}  // namespace

const std::vector<GemmKernel>& fused_wgmma_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16Types, kAll, false, 8, kBulk>(),         // pieces by the copy engine, which must not overlap
      kernel<kBf16Types, kLayer, false, 8, kBulk>(),      // pieces that overlap
      kernel<kBf16Types, kAll, true, 1, kPingPong>(),     // by lanes
      kernel<kF16Types, kBackward, true, 8, kOneTile>(),  // with C through shared memory
      kernel<kBf16Types, kBias, false, 1, kStrips>(),     // by lanes that have few registers, pieces together
      kernel<kF16Types, kBias, false, 4, kStrips>(),
      kernel<kBf16Types, kAll, true, 8, kDown>(),          // transposed: pairs down
      kernel<kS8ToF32, kAll, true, 2, kDownBytes>(),       // transposed, right from registers
      kernel<kF16ToF32, kAll, true, 4, kBulk>(),           // 32-bit elements by the copy engine
      kernel<kF16ToF32, kBackward, false, 1, kOneTile>(),  // and by lanes
      kernel<kFp8, kTensors, true, 16, kBytes>(),          // lanes that exchange bytes
      kernel<kFp8, kAll, false, 16, kBytes>(),
      kernel<kS8ToBf16, kTensors, false, 8, kBytes>(),
      kernel<kF16Types, kAll, true, 8, kSplit>(),  // by those who add the parts of k
      kernel<kBf16Types, kRows, false, 1, kLoads, 1>(),
  };
  return all;
}

}  // namespace hotgemm::emulate
