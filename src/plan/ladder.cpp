#include "plan/ladder.hpp"

#include <algorithm>
#include <vector>

namespace hotgemm {
namespace {

std::vector<Rung> make_rungs() {
  const MmaConfig mma{.block_m = 128,
                      .block_n = 128,
                      .block_k = 32,
                      .warps_m = 2,
                      .warps_n = 4,
                      .stages = 2,
                      .swizzle = false,
                      .fragment_buffers = 2,
                      .store = kDirectStore};
  return {
      {.name = "sgemm_thread_tiling", .label = "t4x4", .config = SimtConfig{}, .element = DType::f32},
      {.name = "hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem",
       .label = "mma2x4+warp4x4x2+stage2+dsmem",
       .config = mma},
      {.name = "hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem",
       .label = "mma2x4+warp4x4x2+stage2+dsmem+swizzle",
       .config = mma,
       .block_swizzle = true},
      {.name = "hgemm_cublas_tensor_op_nn", .label = "cublas", .config = std::nullopt},
      {.name = "hgemm_cublas_tensor_op_tn", .label = "cublas", .config = std::nullopt, .op_b = Op::t},
  };
}

}  // namespace

std::span<const Rung> rungs() {
  static const std::vector<Rung> all = make_rungs();
  return all;
}

std::int64_t swizzle_stride(std::int64_t n) {
  constexpr std::int64_t kFewest = 256;
  const std::int64_t stride = n < 4096 ? n / 2 : n / 4;
  return stride < kFewest ? n : stride;
}

LaunchConfig ladder_launch(const Rung& rung, std::int64_t n) {
  const std::int64_t stride = rung.block_swizzle ? swizzle_stride(n) : n;
  const int tile = rung.config ? block_n(*rung.config) : 1;
  return {.raster_width = static_cast<int>(std::clamp<std::int64_t>((stride + tile - 1) / tile, 1, 4096)),
          .raster_along_n = true};
}

}  // namespace hotgemm
