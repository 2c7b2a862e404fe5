#pragma once

#include "gpu/gemm_case.hpp"
#include "gpu/launch_workspace.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"
#include "gpu/device.hpp"
#include "gpu/stream.hpp"

#include <hotgemm/hotgemm.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm {

/// True for fewer cases, for runs under compute-sanitizer.
inline bool small_run() { return std::getenv("HOTGEMM_TEST_SMALL") != nullptr; }

/// A directory that is removed with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotgemm-gpu-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline ContextOptions options_for(Policy policy, const std::string& cache_directory) {
  ContextOptions options;
  options.policy = policy;
  options.cache_directory = cache_directory;
  return options;
}

/// Options with few candidates, for tests in which the winner does not matter. A checker slows everything down, so the
/// budget is larger then.
inline ContextOptions tuning_options(const std::string& cache_directory) {
  ContextOptions options = options_for(Policy::tune, cache_directory);
  options.tuning.max_candidates = small_run() ? 3 : 6;
  options.tuning.budget_s = small_run() ? 60 : 2;
  return options;
}

/// GPU 0 of this process, and a Context that never measures. Its kernels are kept for later tests and runs. It writes
/// no records, so nothing else is kept.
class Gpu {
 public:
  struct KernelRequest {
    KernelConfig config;
    GemmTraits traits;
  };
  using Kernel = std::shared_ptr<const GemmKernel>;

  Gpu() : driver_(Driver::get()), primary_(driver_, 0), context_(options_for(Policy::estimate, cache_directory())) {}

  static std::string cache_directory() {
    return (std::filesystem::temp_directory_path() / ("hotgemm-gpu-tests-" + std::to_string(::geteuid()))).string();
  }

  const Driver& driver() const { return driver_; }
  Context& context() { return context_; }
  DeviceState& state() { return impl_of(context_).current(); }
  const std::string& arch() { return state().info().arch; }
  std::size_t free_bytes() const {
    std::size_t free = 0, total = 0;
    driver_.check(driver_.cuMemGetInfo(&free, &total), "ask for free memory");
    return free;
  }

  /// Builds the kernels that are not in the cache, all at once, and loads all. Throws std::runtime_error with the
  /// compiler's log.
  std::vector<Kernel> kernels(std::span<const KernelRequest> requests) {
    Engine& engine = impl_of(context_).engine();
    std::map<std::string, std::size_t> place;  // keyed by symbol
    std::vector<KernelSource> sources;
    std::vector<std::size_t> source_of;
    for (const KernelRequest& request : requests) {
      KernelSource source = render(request.config, request.traits, arch(), engine.bundle);
      const auto [it, is_new] = place.emplace(source.symbol, sources.size());
      if (is_new) sources.push_back(std::move(source));
      source_of.push_back(it->second);
    }
    const std::vector<BuildResult> built = engine.builder.build_all(sources, default_compile_jobs());
    std::vector<Kernel> loaded;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const BuildResult& result = built[source_of[i]];
      if (!result.cubin) throw std::runtime_error(sources[source_of[i]].symbol + ": " + result.failure);
      loaded.push_back(state().load(requests[i].config, requests[i].traits, *result.cubin));
    }
    return loaded;
  }
  Kernel kernel(const KernelConfig& config, const GemmTraits& traits) {
    return kernels(std::vector<KernelRequest>{{config, traits}}).front();
  }

 private:
  const Driver& driver_;
  PrimaryContext primary_;
  Context context_;
};

/// Skips the test if there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_or_reason().gpu == nullptr) GTEST_SKIP() << gpu_or_reason().why_not;
    stream_.emplace(driver());
  }

  static Gpu& gpu() { return *gpu_or_reason().gpu; }
  static const Driver& driver() { return gpu().driver(); }
  CUstream stream() const { return stream_->get(); }

  /// A function that launches `kernel` on this test's stream.
  CaseRun::Launch launcher(const Gpu::Kernel& kernel, const LaunchConfig& launch, const Problem& p) const {
    const auto workspace = std::make_shared<LaunchWorkspace>(driver(), *kernel, p.m, p.n, launch.splits, stream());
    return [this, kernel, launch, p, workspace](const Operands& operands) {
      driver().check(launch_gemm(driver(), *kernel, launch, p.m, p.n, p.k, operands, stream(), workspace->args()),
                     "launch a GEMM");
    };
  }
  /// A function that calls Context::gemm on this test's stream.
  CaseRun::Launch caller(Context& context, const Problem& problem) const {
    return [this, &context, problem](const Operands& operands) { context.gemm(stream(), problem, operands); };
  }

 private:
  struct GpuOrReason {
    Gpu* gpu = nullptr;
    std::string why_not;
  };
  static const GpuOrReason& gpu_or_reason() {
    static const GpuOrReason instance = [] {
      try {
        return GpuOrReason{new Gpu, {}};  // never destroyed: libcuda may be gone when static objects are destroyed
      } catch (const Error& error) {
        if (error.code() != ErrorCode::no_driver && error.code() != ErrorCode::no_device) throw;
        return GpuOrReason{nullptr, error.what()};
      }
    }();
    return instance;
  }

  std::optional<OwnedStream> stream_;
};

}  // namespace hotgemm
