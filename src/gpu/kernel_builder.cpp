#include "gpu/kernel_builder.hpp"

#include "base/callback_guard.hpp"
#include "base/cores.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace hotgemm {

std::optional<Cubin> KernelBuilder::find(const KernelSource& source) {
  const Nvrtc* nvrtc = Nvrtc::loaded();
  return cache_.find(source.identity, nvrtc != nullptr ? std::string_view(nvrtc->toolchain()) : std::string_view());
}

BuildResult KernelBuilder::build(const KernelSource& source) {
  if (auto cubin = find(source)) return {std::move(cubin), true, {}};
  const Nvrtc& nvrtc = Nvrtc::get();
  const ShardLock lock = cache_.lock(source.identity);
  if (auto cubin = find(source)) return {std::move(cubin), true, {}};
  Cubin cubin = compile_ ? compile_(source) : nvrtc.compile(source, bundle_);
  cache_.store(source.identity, cubin);
  return {std::move(cubin), false, {}};
}

BuildResult KernelBuilder::rebuild(const KernelSource& source, const Cubin& refused, std::string_view reason,
                                   bool may_compile) {
  cache_.discard(source.identity, refused, reason);
  if (may_compile) return build(source);
  if (std::optional<Cubin> other = find(source)) return {std::move(other), true, {}};
  throw Error(ErrorCode::not_prepared, "the cubin in the cache cannot be used, and was dropped: " +
                                           std::string(reason) + "; run: hotgemm prewarm");
}

std::vector<BuildResult> KernelBuilder::build_all(std::span<const KernelSource> sources, int jobs,
                                                  const std::function<bool(std::size_t, const BuildResult&)>& done) {
  std::vector<BuildResult> results(sources.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> go_on{true};
  std::mutex done_mutex;
  CallbackGuard callbacks;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size() && go_on; i = next++) {
      try {
        results[i] = build(sources[i]);
      } catch (const std::exception& error) {
        results[i].failure = error.what();
      }
      if (!done) continue;
      const std::lock_guard lock(done_mutex);
      if (!callbacks.run(false, [&] { return done(i, results[i]); })) go_on = false;
    }
  };
  const auto threads = std::min<std::size_t>(static_cast<std::size_t>(std::max(jobs, 1)), sources.size());
  std::vector<std::jthread> pool;
  for (std::size_t i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  pool.clear();  // joins the threads
  callbacks.rethrow();
  for (BuildResult& result : results) {
    if (!result.cubin && result.failure.empty()) result.failure = kInterruptedBuild;
  }
  return results;
}

int default_compile_jobs() { return std::min(available_cores(), 2 * kThreadsPerCompiler); }

}  // namespace hotgemm
