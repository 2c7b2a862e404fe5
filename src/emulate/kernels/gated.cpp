#include "emulate/kernels/fused_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kAll{.scale_a = Scaling::vector, .scale_b = Scaling::vector, .bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::halves, .residual = true, .amax = true, .scale_d = true, .scalars = true};
constexpr Epilogue kAllInterleaved{.scale_a = Scaling::vector, .scale_b = Scaling::vector, .bias = Bias::per_column, .activation = Activation::relu, .gate = Gate::interleaved, .residual = true, .amax = true, .scale_d = true, .scalars = true};
constexpr Epilogue kKept{.bias = Bias::per_column, .aux = true, .activation = Activation::relu, .gate = Gate::halves, .residual = true};
constexpr Epilogue kKeptInterleaved{.bias = Bias::per_column, .aux = true, .activation = Activation::relu, .gate = Gate::interleaved};
constexpr Epilogue kSwiglu{.activation = Activation::silu, .gate = Gate::halves};
constexpr Epilogue kGeglu{.scale_b = Scaling::vector, .bias = Bias::per_column, .activation = Activation::gelu, .gate = Gate::interleaved};

constexpr SimtConfig kSimt{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 4};
constexpr MmaConfig kMmaStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .store = kStagedStore};
constexpr MmaConfig kMmaDirect{.block_m = 48, .block_n = 64, .block_k = 64, .warps_m = 3, .warps_n = 2, .stages = 2, .fragment_buffers = 1, .store = kDirectStore};
constexpr WgmmaConfig kBulk{.block_m = 128, .block_n = 160, .block_k = 64, .consumers = 2, .stages = 2};  // the last piece of 64 columns overlaps
constexpr WgmmaConfig kOddHalf{.block_m = 128, .block_n = 176, .block_k = 64, .consumers = 2, .stages = 2};  // 88 columns
constexpr WgmmaConfig kSplitN{.block_m = 64, .block_n = 128, .block_k = 64, .consumers = 2, .split_n = true, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};

constexpr KernelTypes kF16{DType::f16, DType::f32}, kBf16{DType::bf16, DType::f32}, kF16ToF32{DType::f16, DType::f32, DType::f16, DType::f32};
constexpr KernelTypes kFp8{DType::e4m3, DType::f32, DType::e4m3, DType::e4m3}, kFp8ToBf16{DType::e4m3, DType::f32, DType::e4m3, DType::bf16};
// clang-format on

template <KernelTypes kTypes, Epilogue kEpilogue, Op kOpB, int kVec, int kVecD, auto kConfig>
GemmKernel kernel() {
  return fused_kernel<kTypes, kEpilogue, false, kOpB, kVec, kVecD, kConfig>();
}

}  // namespace

const std::vector<GemmKernel>& gated_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, kAll, Op::t, 1, 1, kSimt>(),
      kernel<kBf16, kGeglu, Op::n, 1, 1, kSimt>(),
      kernel<kF16, kAll, Op::n, 8, 8, kMmaStaged>(),             // chunks along n, of either half
      kernel<kBf16, kSwiglu, Op::t, 8, 2, kMmaDirect>(),         // rows along k
      kernel<kF16, kAllInterleaved, Op::t, 8, 8, kMmaStaged>(),  // single elements to shared memory,
      kernel<kFp8ToBf16, kGeglu, Op::n, 16, 1, kMmaDirect>(),    // and to D
      kernel<kFp8ToBf16, kSwiglu, Op::n, 16, 2, kMmaDirect>(),   // bytes along n
      kernel<kF16, kAll, Op::t, 8, 8, kOddHalf>(),               // boxes of rows, of either half
      kernel<kBf16, kSwiglu, Op::n, 8, 8, kBulk>(),              // slabs along n
      kernel<kBf16, kGeglu, Op::t, 8, 8, kOddHalf>(),            // lanes exchange elements
      kernel<kBf16, kSwiglu, Op::n, 8, 1, kBulk>(),              // rows at odd elements, whose pieces share words
      kernel<kBf16, kGeglu, Op::t, 8, 1, kOddHalf>(),            // and parts of 88 columns
      kernel<kBf16, kAllInterleaved, Op::n, 8, 1, kSplitN>(),    // lanes exchange elements
      kernel<kF16ToF32, kAll, Op::t, 8, 4, kSplitN>(),           // by lanes, right from registers
      kernel<kFp8, kSwiglu, Op::t, 16, 16, kBytes>(),            // bytes that lanes exchange
      kernel<kFp8, kGeglu, Op::t, 16, 16, kBytes>(),             // and single ones
      kernel<kBf16, kKept, Op::t, 1, 1, kSimt>(),                // with both columns as auxiliary output,
      kernel<kF16, kKept, Op::t, 8, 2, kMmaDirect>(),            // in pairs
      kernel<kBf16, kKeptInterleaved, Op::t, 8, 8, kMmaStaged>(),
      kernel<kF16, kKept, Op::t, 8, 8, kOddHalf>(),
      kernel<kBf16, kKeptInterleaved, Op::t, 8, 8, kOddHalf>(),
      kernel<kF16ToF32, kKept, Op::t, 8, 4, kSplitN>(),
  };
  return all;
}

}  // namespace hotgemm::emulate
