#include "emulate/gemm_kernel.hpp"

#include "config/families.hpp"
#include "fma.cuh"
#include "mma.cuh"
#include "simt.cuh"

#include <iterator>
#include <utility>

namespace hotgemm::emulate {
namespace {

// clang-format off
// Each part alone.
constexpr Epilogue kParts[] = {
    {.scale_a = Scaling::tensor}, {.scale_a = Scaling::vector}, {.scale_b = Scaling::tensor}, {.scale_b = Scaling::vector},
    {.bias = Bias::per_column}, {.bias = Bias::per_row}, {.aux = true}, {.residual = true}, {.scale_d = true}, {.scalars = true},
    {.activation = Activation::relu}, {.activation = Activation::gelu}, {.activation = Activation::gelu_erf}, {.activation = Activation::silu},
    {.activation = Activation::sigmoid}, {.activation = Activation::tanh},
    {.activation = Activation::drelu}, {.activation = Activation::dgelu}, {.activation = Activation::dgelu_erf}, {.activation = Activation::dsilu},
    {.activation = Activation::dsigmoid}, {.activation = Activation::dtanh},
};
constexpr Epilogue kAll{.scale_a = Scaling::vector, .scale_b = Scaling::vector, .bias = Bias::per_column, .aux = true, .activation = Activation::relu, .residual = true, .scale_d = true, .scalars = true};
constexpr Epilogue kRows{.scale_a = Scaling::tensor, .scale_b = Scaling::vector, .bias = Bias::per_row, .activation = Activation::dgelu, .residual = true};
constexpr Epilogue kTensors{.scale_a = Scaling::tensor, .scale_b = Scaling::tensor, .bias = Bias::per_column, .scale_d = true};

constexpr SimtConfig kSimt{.block_m = 24, .block_n = 48, .block_k = 7, .thread_m = 3, .thread_n = 3};
constexpr FmaConfig kFma{.block_m = 32, .block_n = 64, .block_k = 12, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 2, .padded = false, .async_copy = true};
constexpr MmaConfig kMmaStaged{.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 2, .store = kStagedStore};
constexpr MmaConfig kMmaDirect{.block_m = 32, .block_n = 48, .block_k = 48, .warps_m = 1, .warps_n = 3, .stages = 5, .swizzle = true, .fragment_buffers = 2, .store = kDirectStore};
constexpr MmaConfig kMmaShuffled{.block_m = 16, .block_n = 48, .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2};
constexpr MmaConfig kMmaBytes{.block_m = 48, .block_n = 64, .block_k = 64, .warps_m = 3, .warps_n = 2, .stages = 4, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore};
// clang-format on

constexpr KernelTypes kF16Types{DType::f16, DType::f32};
constexpr KernelTypes kBf16Types{DType::bf16, DType::f32}, kF32Types{DType::f32, DType::f32};
constexpr KernelTypes kFp8{DType::e4m3, DType::f32, DType::e5m2, DType::e5m2};
constexpr KernelTypes kFp8ToBf16{DType::e4m3, DType::f32, DType::e4m3, DType::bf16};
constexpr KernelTypes kS8{DType::s8, DType::s32, DType::s8, DType::s8};
constexpr KernelTypes kS8ToF32{DType::s8, DType::s32, DType::s8, DType::f32};

constexpr GemmTraits traits(const KernelTypes& types, const Epilogue& epilogue, bool reads_c, int vec_d,
                            int vec_ab = 1) {
  return {.element = types.element,
          .accumulator = types.accumulator,
          .element_b = types.element_b,
          .element_d = types.element_d,
          .op_b = Op::t,
          .reads_c = reads_c,
          .vec_a = vec_ab,
          .vec_b = vec_ab,
          .vec_d = vec_d,
          .epilogue = epilogue};
}

template <GemmTraits kTraits, SimtConfig kConfig>
GemmKernel kernel() {
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(75)));
  return {kConfig, kTraits, simt_gemm<kTraits, kConfig>};
}
template <GemmTraits kTraits, FmaConfig kConfig>
GemmKernel kernel() {
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(80)));
  return {kConfig, kTraits, fma_gemm<kTraits, kConfig>};
}
template <GemmTraits kTraits, MmaConfig kConfig>
GemmKernel kernel() {
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
  return {kConfig, kTraits, mma_gemm<kTraits, kConfig>};
}

template <std::size_t... kPart>
void append_parts(std::vector<GemmKernel>& kernels, std::index_sequence<kPart...>) {
  (kernels.push_back(kernel<traits(kF16Types, kParts[kPart], kPart % 2 == 0, 1), kSimt>()), ...);
}

}  // namespace

const std::vector<GemmKernel>& fused_kernels() {
  static const std::vector<GemmKernel> all = [] {
    std::vector<GemmKernel> kernels;
    append_parts(kernels, std::make_index_sequence<std::size(kParts)>{});
    kernels.push_back(kernel<traits(kBf16Types, kAll, true, 1), kSimt>());
    kernels.push_back(kernel<traits(kFp8, kTensors, false, 1), kSimt>());
    kernels.push_back(kernel<traits(kS8, kAll, true, 1), kSimt>());
    kernels.push_back(kernel<traits(kF32Types, kAll, true, 4, 2), kFma>());
    kernels.push_back(kernel<traits(kBf16Types, kRows, false, 2, 2), kFma>());
    kernels.push_back(kernel<traits(kF16Types, kAll, true, 8, 8), kMmaStaged>());
    kernels.push_back(kernel<traits(kBf16Types, kRows, true, 1, 8), kMmaDirect>());
    kernels.push_back(kernel<traits(kF16Types, kAll, false, 2, 8), kMmaDirect>());
    kernels.push_back(kernel<traits(kBf16Types, kAll, false, 8, 8), kMmaShuffled>());
    kernels.push_back(kernel<traits(kFp8ToBf16, kTensors, true, 2, 16), kMmaBytes>());
    kernels.push_back(kernel<traits(kS8ToF32, kAll, true, 2, 16), kMmaBytes>());
    return kernels;
  }();
  return all;
}

}  // namespace hotgemm::emulate
