#pragma once

#include "gpu/loaded_kernel.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/tensor_map.hpp"
#include "plan/render.hpp"

#include <hotgemm/types.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace hotgemm {

/// A kernel of the `wgmma` family, which no KernelConfig holds yet, and its launch.
class WgmmaKernel {
 public:
  WgmmaKernel(const Driver& driver, const WgmmaConfig& config, const GemmTraits& traits, const TemplateBundle& bundle)
      : driver_(driver), config_(config), traits_(traits) {
    const KernelSource source = render_wgmma(config, traits, "sm_90a", bundle);
    cubin_ = Nvrtc::get().compile(source, bundle);
  }

  const Cubin& cubin() const { return cubin_; }
  const WgmmaConfig& config() const { return config_; }
  /// Into the current context, before the first launch. Apart from compiling, which any thread may do.
  void load() { kernel_ = std::make_unique<LoadedKernel>(driver_, cubin_, config_.smem_bytes()); }

  void launch(std::int64_t m, std::int64_t n, std::int64_t k, const Operands& o, const LaunchConfig& raster, int blocks,
              CUstream stream) const {
    WgmmaArgs args{.a = {},
                   .b = {},
                   .gemm = {.c = reinterpret_cast<unsigned long long>(o.c),
                            .d = reinterpret_cast<unsigned long long>(o.d),
                            .ldc = o.ldc,
                            .ldd = o.ldd,
                            .m = static_cast<int>(m),
                            .n = static_cast<int>(n),
                            .k = o.alpha == 0 ? 0 : static_cast<int>(k),
                            .alpha = o.alpha,
                            .beta = o.beta,
                            .raster_width = raster.raster_width,
                            .raster_along_n = raster.raster_along_n ? 1 : 0}};
    const bool a_k = traits_.a_is_k_major(), b_k = traits_.b_is_k_major();
    if (k > 0) {  // there is no map of an empty tensor, and no copy of one
      args.a = map(o.a, a_k ? m : k, a_k ? k : m, o.lda, config_.a_box(traits_), config_.a_tile(traits_));
      args.b = map(o.b, b_k ? n : k, b_k ? k : n, o.ldb, config_.b_box(traits_), config_.b_tile(traits_));
    }
    void* parameters[] = {&args};
    const auto tiles = [](std::int64_t extent, int tile) { return (extent - 1) / tile + 1; };
    const std::int64_t groups =
        tiles(m, config_.block_m * config_.cluster_m) * tiles(n, config_.block_n * config_.cluster_n);
    if (config_.one_tile) blocks = static_cast<int>(groups) * config_.cluster();
    const auto grid =
        static_cast<unsigned>(std::min<std::int64_t>(groups, blocks / config_.cluster()) * config_.cluster());
    driver_.check(driver_.cuLaunchKernel(kernel_->function(), grid, 1, 1, static_cast<unsigned>(config_.threads()), 1,
                                         1, static_cast<unsigned>(config_.smem_bytes()), stream, parameters, nullptr),
                  "launch " + cubin_.symbol);
  }

 private:
  TensorMap map(const void* base, std::int64_t rows, std::int64_t cols, std::int64_t ld, BoxExtent box,
                const WgmmaTile& tile) const {
    TensorMapSpec spec{.base = reinterpret_cast<std::uint64_t>(base),
                       .element = traits_.element,
                       .swizzle = tile.swizzle_bytes == 128  ? TensorSwizzle::bytes_128
                                  : tile.swizzle_bytes == 64 ? TensorSwizzle::bytes_64
                                                             : TensorSwizzle::bytes_32};
    spec.sizes = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)};
    spec.strides = {2, static_cast<std::uint64_t>(ld) * 2};
    spec.box = {static_cast<std::uint32_t>(box.x), static_cast<std::uint32_t>(box.y)};
    return encode_tensor_map(driver_, spec);
  }

  const Driver& driver_;
  WgmmaConfig config_;
  GemmTraits traits_;
  Cubin cubin_;
  std::unique_ptr<LoadedKernel> kernel_;
};

}  // namespace hotgemm
