#include "gpu/kernel_builder.hpp"

#include "base/callback_guard.hpp"
#include "base/cores.hpp"
#include "gpu/compile_threads.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// The time for which a build may wait for another one of the same kernel.
std::chrono::milliseconds patience_until(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return ShardLocks::kDefaultWait;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::clamp(left, std::chrono::milliseconds(0), ShardLocks::kDefaultWait);
}

}  // namespace

std::optional<Cubin> KernelBuilder::find(const KernelSource& source) {
  const Nvrtc* nvrtc = Nvrtc::loaded();
  return cache_.find(source.identity, nvrtc != nullptr ? std::string_view(nvrtc->toolchain()) : std::string_view());
}

std::optional<Cubin> KernelBuilder::find(const KernelSource& source, Reuse reuse) {
  std::optional<Cubin> cubin = find(source);
  const Nvrtc* nvrtc = Nvrtc::loaded();
  const bool is_other =
      cubin && !cubin->toolchain.empty() && nvrtc != nullptr && cubin->toolchain != nvrtc->toolchain();
  return is_other && reuse == Reuse::loaded_toolchain ? std::nullopt : cubin;
}

BuildResult KernelBuilder::build(const KernelSource& source, BuildOptions options) {
  if (auto cubin = find(source, options.reuse)) return {std::move(cubin), true, {}};
  const Nvrtc& nvrtc = Nvrtc::get();
  const ShardLock lock = cache_.lock(source.identity, patience_until(options.deadline));
  if (auto cubin = find(source, options.reuse)) return {std::move(cubin), true, {}};
  return {compile_and_store(nvrtc, source, options.deadline), false, {}};
}

Cubin KernelBuilder::compile_and_store(const Nvrtc& nvrtc, const KernelSource& source, Clock::time_point deadline) {
  Cubin cubin = compile_ ? compile_(source) : nvrtc.compile(source, bundle_, nullptr, deadline);
  cache_.store(source.identity, cubin);
  return cubin;
}

BuildResult KernelBuilder::rebuild(const KernelSource& source, const Cubin& refused, std::string_view reason,
                                   bool may_compile) {
  cache_.discard(source.identity, refused, reason);
  if (may_compile) {
    KernelSource whole = source;
    whole.variables = GlobalVariables::all;
    return {compile_and_store(Nvrtc::get(), whole, Clock::time_point::max()), false, {}};
  }
  if (std::optional<Cubin> other = find(source)) return {std::move(other), true, {}};
  throw Error(ErrorCode::not_prepared, "the cubin in the cache cannot be used, and was dropped: " +
                                           std::string(reason) + "; run: hotgemm prewarm");
}

std::vector<BuildResult> KernelBuilder::build_all(std::span<const KernelSource> sources, int jobs,
                                                  const std::function<bool(std::size_t, const BuildResult&)>& done,
                                                  BuildOptions options) {
  std::vector<BuildResult> results(sources.size());
  if (sources.empty()) return results;
  std::atomic<std::size_t> next{1};
  std::atomic<bool> go_on{true};
  std::mutex done_mutex;
  CallbackGuard callbacks;
  const auto build_one = [&](std::size_t i) {
    try {
      results[i] = build(sources[i], {options.reuse, i == 0 ? Clock::time_point::max() : options.deadline});
    } catch (const Error& error) {
      results[i].failure = error.code() == ErrorCode::interrupted ? kLateBuild : error.what();
    } catch (const std::exception& error) {
      results[i].failure = error.what();
    }
    if (!done) return;
    const std::lock_guard lock(done_mutex);
    if (!callbacks.run(false, [&] { return done(i, results[i]); })) go_on = false;
  };
  const auto is_over = [&] { return !go_on || Clock::now() >= options.deadline; };
  const auto caller = std::this_thread::get_id();
  const auto work = [&] {
    if (std::this_thread::get_id() == caller) build_one(0);
    while (!is_over()) {
      const std::size_t i = next++;
      if (i >= sources.size()) break;
      build_one(i);
    }
  };
  const auto threads = std::min<std::size_t>(static_cast<std::size_t>(std::max(jobs, 1)), sources.size());
  CompileThreads::of_process().run(threads - 1, work);
  callbacks.rethrow();
  for (BuildResult& result : results) {
    if (!result.cubin && result.failure.empty()) result.failure = go_on ? kLateBuild : kInterruptedBuild;
  }
  return results;
}

int default_compile_jobs() { return std::min(available_cores(), 2 * kThreadsPerCompiler); }

}  // namespace hotgemm
