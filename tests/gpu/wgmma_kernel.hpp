#pragma once

#include "config/render.hpp"
#include "gpu/gemm_launch.hpp"
#include "gpu/launch_workspace.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/types.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hotgemm {

/// A kernel of the `wgmma` family, compiled for tests without any cache.
class WgmmaKernel {
 public:
  WgmmaKernel(const Driver& driver, const WgmmaConfig& config, const GemmTraits& traits, const TemplateBundle& bundle)
      : driver_(driver), config_(config), traits_(traits) {
    const KernelSource source = render(config, traits, "sm_90a", bundle);
    cubin_ = Nvrtc::get().compile(source, bundle);
  }

  const Cubin& cubin() const { return cubin_; }
  const WgmmaConfig& config() const { return config_; }
  /// Loads the kernel into the current context; call it before the first launch. Only compiling may happen on another
  /// thread.
  void load() { kernel_ = std::make_unique<GemmKernel>(load_gemm_kernel(driver_, config_, traits_, cubin_, 1)); }

  /// Launches as many blocks as fit on `sm_count` SMs. A kernel whose blocks divide k divides it into three parts; it
  /// then waits for the end of the launch.
  void launch(std::int64_t m, std::int64_t n, std::int64_t k, const Operands& o, const LaunchConfig& raster,
              int sm_count, CUstream stream) const {
    kernel_->sm_count = sm_count;
    LaunchConfig launch = raster;
    if (kernel_->shape.splits_k) launch.splits = 3;
    const LaunchWorkspace workspace(driver_, *kernel_, m, n, launch.splits, stream);
    driver_.check(launch_gemm(driver_, *kernel_, launch, m, n, k, o, stream, workspace.args()),
                  "launch " + cubin_.symbol);
    if (kernel_->shape.splits_k) driver_.check(driver_.cuStreamSynchronize(stream), "wait for " + cubin_.symbol);
  }

 private:
  const Driver& driver_;
  WgmmaConfig config_;
  GemmTraits traits_;
  Cubin cubin_;
  std::unique_ptr<GemmKernel> kernel_;
};

/// Compiles the kernels of the legal configs, each in its own thread, and loads them. A kernel that fails is left out,
/// and fail(message) is called for it.
template <class Fail>
std::vector<WgmmaKernel> build_wgmma_kernels(const Driver& driver, std::span<const WgmmaConfig> configs,
                                             const GemmTraits& traits, const Fail& fail) {
  const TemplateBundle bundle = TemplateBundle::from_environment();
  std::vector<std::optional<WgmmaKernel>> built(configs.size());
  std::vector<std::string> failures(configs.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (!is_legal(configs[i], traits, *find_arch_limits(90))) continue;
      threads.emplace_back([&, i] {
        try {
          built[i].emplace(driver, configs[i], traits, bundle);
        } catch (const std::exception& error) {
          failures[i] = error.what();
        }
      });
    }
  }
  for (const std::string& failure : failures) {
    if (!failure.empty()) fail(failure);
  }
  std::vector<WgmmaKernel> loaded;
  for (std::optional<WgmmaKernel>& kernel : built) {
    if (!kernel) continue;
    kernel->load();
    loaded.push_back(std::move(*kernel));
  }
  return loaded;
}

}  // namespace hotgemm
