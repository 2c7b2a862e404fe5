#pragma once

#include "cache/binary_cache.hpp"
#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

class Nvrtc;

struct BuildResult {
  std::optional<Cubin> cubin;
  bool from_cache = false;
  std::string failure;  ///< the reason why there is no cubin: the compiler's log, kInterruptedBuild or kLateBuild
};

/// The failure of a source that build_all did not reach before it was stopped.
inline constexpr const char* kInterruptedBuild = "interrupted";
/// The failure of a source that was not compiled at the deadline of build_all.
inline constexpr const char* kLateBuild = "no time was left";

/// The cubins in the cache that a build may return instead of compiling.
enum class Reuse {
  any_toolchain,
  /// If NVRTC is loaded, its cubins only. Measuring needs this, because a record is about one toolchain.
  loaded_toolchain,
};

struct BuildOptions {
  Reuse reuse = Reuse::any_toolchain;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// Turns sources into cubins. A cubin that is not in the cache is compiled with NVRTC and stored there. Thread-safe.
class KernelBuilder {
 public:
  /// A function with the behaviour of Nvrtc::compile.
  using Compile = std::function<Cubin(const KernelSource&)>;

  /// Keeps references to `cache` and `bundle`.
  KernelBuilder(BinaryCache& cache, const TemplateBundle& bundle) : cache_(cache), bundle_(bundle) {}

  /// Uses `compile` instead of NVRTC in this process. This process still needs NVRTC, because its version is part of
  /// the cache key. Call it before the first build.
  void compile_with(Compile compile) { compile_ = std::move(compile); }

  /// The cached cubin of `source`, if there is one. Does not load NVRTC.
  std::optional<Cubin> find(const KernelSource& source);
  /// Returns the cubin, or throws Error{no_compiler, compile_failed}. Concurrent calls for one kernel compile it once.
  /// A compilation that reaches the deadline is cancelled: Error{interrupted}.
  BuildResult build(const KernelSource& source, BuildOptions options = {});
  /// Another cubin for `refused`, which the driver refused for `reason`: forgets it, on disk too, and compiles the
  /// kernel with all variables, as NVRTC makes it. If `may_compile` is false, returns what the cache still has, or
  /// throws Error{not_prepared}.
  BuildResult rebuild(const KernelSource& source, const Cubin& refused, std::string_view reason, bool may_compile);
  /// Builds all with up to `jobs` threads: this one and others of CompileThreads. Failures are results, not exceptions.
  /// `done` is called after each, from one thread at a time, with its index; the build stops if `done` returns false.
  /// An exception from `done` ends the build and is rethrown here as CallbackGuard describes.
  ///
  /// The first source is compiled on this thread, however long that takes. At the deadline no other one is begun, and
  /// those that are being compiled end with their phase (Nvrtc::compile).
  std::vector<BuildResult> build_all(std::span<const KernelSource> sources, int jobs,
                                     const std::function<bool(std::size_t, const BuildResult&)>& done = {},
                                     BuildOptions options = {});

  BinaryCache& cache() { return cache_; }
  const TemplateBundle& bundle() const { return bundle_; }

 private:
  std::optional<Cubin> find(const KernelSource& source, Reuse reuse);
  Cubin compile_and_store(const Nvrtc& nvrtc, const KernelSource& source,
                          std::chrono::steady_clock::time_point deadline);

  BinaryCache& cache_;
  const TemplateBundle& bundle_;
  Compile compile_;
};

/// The number of threads for which NVRTC scales well within one process: 8 threads compile seven times as fast as one,
/// 16 threads ten times.
inline constexpr int kThreadsPerCompiler = 8;

/// The number of compile threads for this process: its cores, but at most twice kThreadsPerCompiler.
int default_compile_jobs();

}  // namespace hotgemm
