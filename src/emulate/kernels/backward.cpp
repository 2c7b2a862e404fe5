#include "emulate/kernels/fused_kernel.hpp"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kForward{.bias = Bias::per_column, .aux = true, .activation = Activation::relu, .bits = true};
constexpr Epilogue kBackward{.activation = Activation::drelu, .bits = true, .bias_gradient = Bias::per_column};
constexpr Epilogue kRows{.scale_a = Scaling::vector, .bias = Bias::per_row, .aux = true, .activation = Activation::relu, .residual = true, .scale_d = true, .bits = true, .bias_gradient = Bias::per_row};
constexpr Epilogue kGelu{.activation = Activation::dgelu, .residual = true, .bias_gradient = Bias::per_column};

constexpr SimtConfig kSimt{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};
constexpr FmaConfig kFma{.block_m = 32, .block_n = 64, .block_k = 12, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 2, .padded = false, .async_copy = true};
constexpr MmaConfig kMmaStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .store = kStagedStore};
constexpr MmaConfig kMmaDirect{.block_m = 48, .block_n = 64, .block_k = 64, .warps_m = 3, .warps_n = 2, .stages = 2, .fragment_buffers = 1, .store = kDirectStore};
constexpr MmaConfig kMmaShuffled{.block_m = 16, .block_n = 48, .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 3, .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2};
constexpr WgmmaConfig kBulk{.block_m = 128, .block_n = 72, .block_k = 64, .consumers = 2, .stages = 2};  // pieces of 64 columns would overlap
constexpr WgmmaConfig kPingPong{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 2, .ping_pong = true, .stages = 3};
constexpr WgmmaConfig kDown{.block_m = 72, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kDownBytes{.block_m = 24, .block_n = 64, .block_k = 128, .consumers = 1, .stages = 2, .transposed = true};
constexpr WgmmaConfig kSplit{.block_m = 64, .block_n = 32, .block_k = 64, .consumers = 1, .one_tile = true, .stages = 3, .split_k = true};
constexpr WgmmaConfig kBytes{.block_m = 64, .block_n = 96, .block_k = 128, .consumers = 1, .stages = 2};

constexpr KernelTypes kF16{DType::f16, DType::f32}, kBf16{DType::bf16, DType::f32}, kF32{DType::f32, DType::f32}, kF16ToF32{DType::f16, DType::f32, DType::f16, DType::f32};
constexpr KernelTypes kFp8{DType::e4m3, DType::f32, DType::e4m3, DType::e4m3}, kFp8ToBf16{DType::e4m3, DType::f32, DType::e4m3, DType::bf16}, kS8ToF32{DType::s8, DType::s32, DType::s8, DType::f32};
// clang-format on

template <KernelTypes kTypes, Epilogue kEpilogue, bool kReadsC, int kVec, int kVecD, auto kConfig, Op kOpB = Op::t>
GemmKernel kernel() {
  return fused_kernel<kTypes, kEpilogue, kReadsC, kOpB, kVec, kVecD, kConfig>();
}

}  // namespace

const std::vector<GemmKernel>& backward_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, kForward, false, 1, 1, kSimt>(),  // lanes by themselves
      kernel<kBf16, kBackward, true, 1, 1, kSimt>(),
      kernel<kF16, kRows, false, 1, 1, kSimt>(),
      kernel<kF32, kForward, true, 2, 4, kFma>(),
      kernel<kF32, kBackward, false, 2, 1, kFma>(),
      kernel<kF16, kRows, true, 8, 8, kMmaStaged>(),  // quads, of elements of 16 bits
      kernel<kBf16, kBackward, false, 8, 1, kMmaDirect>(),
      kernel<kBf16, kForward, false, 8, 8, kMmaShuffled>(),
      kernel<kS8ToF32, kRows, true, 16, 2, kMmaDirect>(),               // and of 32
      kernel<kFp8ToBf16, kForward, false, 16, 2, kMmaDirect, Op::n>(),  // lanes of even and odd columns
      kernel<kBf16, kForward, false, 8, 8, kBulk>(),                    // by the copy engine
      kernel<kF16, kBackward, false, 8, 8, kBulk>(),
      kernel<kF16, kRows, true, 8, 1, kPingPong>(),  // by lanes
      kernel<kBf16, kRows, true, 8, 8, kDown>(),     // transposed: pairs down
      kernel<kF16, kGelu, false, 8, 8, kDown>(),
      kernel<kBf16, kBackward, false, 8, 8, kDown>(),
      kernel<kS8ToF32, kRows, false, 16, 2, kDownBytes>(),  // right from registers
      kernel<kS8ToF32, kBackward, false, 16, 1, kDownBytes>(),
      kernel<kF16ToF32, kRows, true, 8, 4, kBulk>(),  // lanes of odd rows are ahead
      kernel<kF16ToF32, kBackward, false, 8, 4, kBulk>(),
      kernel<kFp8, kForward, true, 16, 16, kBytes>(),  // lanes that exchange bytes
      kernel<kFp8, kBackward, false, 16, 1, kBytes>(),
      kernel<kF16, kRows, true, 8, 8, kSplit>(),  // by those who add the parts of k
  };
  return all;
}

}  // namespace hotgemm::emulate
