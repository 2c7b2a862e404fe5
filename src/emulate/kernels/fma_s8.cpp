#include "emulate/kernels/fma_table.hpp"

#include <cstddef>
#include <utility>

namespace hotgemm::emulate {
namespace {

// clang-format off
/// Configs with words of four s8, in the only layout that they read: the ring of cp.async, one stage, the double buffer; packed
/// and not; accesses of one word and of several; threads that copy nothing; whole and partial k-tiles.
constexpr FmaConfig kWordConfigs[] = {
    {.block_m = 128, .block_n = 64, .block_k = 64, .thread_m = 16, .thread_n = 8, .stages = 3, .access = 16, .async_copy = true},
    {.block_m = 32,  .block_n = 32, .block_k = 64, .thread_m = 1,  .thread_n = 1, .stages = 1, .access = 4,  .packed = false, .padded = false},
    {.block_m = 64,  .block_n = 64, .block_k = 32, .thread_m = 8,  .thread_n = 8, .stages = 2, .access = 16},
    {.block_m = 32,  .block_n = 64, .block_k = 48, .thread_m = 8,  .thread_n = 8, .stages = 2, .access = 8,  .padded = false, .async_copy = true},
    {.block_m = 96,  .block_n = 32, .block_k = 56, .thread_m = 6,  .thread_n = 4, .stages = 2, .access = 4,  .packed = false},
    {.block_m = 4,   .block_n = 32, .block_k = 64, .thread_m = 2,  .thread_n = 2, .stages = 3, .access = 16, .packed = false, .async_copy = true, .slices = 4},
};
constexpr FmaAccess kWordAccesses[] = {{16, 16, 4, false}, {4, 4, 1, true}, {16, 16, 2, true}, {8, 16, 4, true}, {4, 8, 4, false}, {16, 16, 4, true}};
/// A config without shared memory, which computes any problem.
constexpr FmaConfig kByteConfig{.block_m = 16, .block_n = 32, .block_k = 8, .thread_m = 1, .thread_n = 2, .stages = 0, .access = 1, .packed = false, .padded = false};
constexpr FmaAccess kByteAccess{1, 1, 1, true};
// clang-format on
constexpr int kNt = 1;

template <DType kElementD>
constexpr KernelTypes kTypes{DType::s8, DType::s32, DType::s8, kElementD};

/// The first `kCount` configs with words, and the one without in every layout.
template <DType kElementD, std::size_t kCount>
std::span<const GemmKernel> integer_kernels() {
  static const std::vector<GemmKernel> kernels = []<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    return std::vector<GemmKernel>{
        fma_kernel<kTypes<kElementD>, kNt, kWordAccesses[kIndices], kWordConfigs[kIndices]>()...,
        fma_kernel<kTypes<kElementD>, 0, kByteAccess, kByteConfig>(),
        fma_kernel<kTypes<kElementD>, 1, kByteAccess, kByteConfig>(),
        fma_kernel<kTypes<kElementD>, 2, kByteAccess, kByteConfig>(),
        fma_kernel<kTypes<kElementD>, 3, kByteAccess, kByteConfig>()};
  }
  (std::make_index_sequence<kCount>{});
  return kernels;
}

}  // namespace

template <>
std::span<const GemmKernel> emulated_kernels<FmaConfig, DType::s8, DType::s32, DType::s8, DType::s32>() {
  return integer_kernels<DType::s32, std::size(kWordConfigs)>();
}
template <>
std::span<const GemmKernel> emulated_kernels<FmaConfig, DType::s8, DType::s32, DType::s8, DType::f32>() {
  return integer_kernels<DType::f32, 1>();
}
template <>
std::span<const GemmKernel> emulated_kernels<FmaConfig, DType::s8, DType::s32, DType::s8, DType::f16>() {
  return integer_kernels<DType::f16, 1>();
}
template <>
std::span<const GemmKernel> emulated_kernels<FmaConfig, DType::s8, DType::s32, DType::s8, DType::bf16>() {
  return integer_kernels<DType::bf16, 2>();
}

}  // namespace hotgemm::emulate
