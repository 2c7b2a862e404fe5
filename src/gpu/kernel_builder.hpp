#pragma once

#include "cache/binary_cache.hpp"
#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

struct BuildResult {
  std::optional<Cubin> cubin;
  bool from_cache = false;
  std::string failure;  ///< why there is no cubin: the compiler's log, or kInterruptedBuild
};

/// The failure of what build_all did not come to.
inline constexpr const char* kInterruptedBuild = "interrupted";

/// Turns sources into cubins: from the cache, or by NVRTC and into the cache. Thread-safe.
class KernelBuilder {
 public:
  /// As Nvrtc::compile.
  using Compile = std::function<Cubin(const KernelSource&)>;

  /// Keeps references to both.
  KernelBuilder(BinaryCache& cache, const TemplateBundle& bundle) : cache_(cache), bundle_(bundle) {}

  /// Compiles by `compile` instead of in this process, which needs NVRTC all the same: what is cached is looked up by
  /// its version. To be called before anything is built.
  void compile_with(Compile compile) { compile_ = std::move(compile); }

  /// The cached cubin of `source`, if any. Does not load NVRTC.
  std::optional<Cubin> find(const KernelSource& source);
  /// Throws Error{no_compiler, compile_failed}. Concurrent calls for one kernel compile it once.
  BuildResult build(const KernelSource& source);
  /// Builds all with up to `jobs` threads; failures are results, not exceptions. `done` is called after each, from one
  /// thread at a time, with its index; it returns whether to go on. What it throws ends the work, and is thrown here as
  /// CallbackGuard says.
  std::vector<BuildResult> build_all(std::span<const KernelSource> sources, int jobs,
                                     const std::function<bool(std::size_t, const BuildResult&)>& done = {});

  BinaryCache& cache() { return cache_; }
  const TemplateBundle& bundle() const { return bundle_; }

 private:
  BinaryCache& cache_;
  const TemplateBundle& bundle_;
  Compile compile_;
};

/// How many threads of one process NVRTC serves well: with 8 they compile seven times as fast as one, with 16 ten
/// times.
inline constexpr int kThreadsPerCompiler = 8;

/// Threads worth compiling with in this process: its cores, but no more than NVRTC gains from.
int default_compile_jobs();

}  // namespace hotgemm
