#pragma once

#include "gpu/gemm_case.hpp"
#include "standin/standin_fixture.hpp"

#include "context_impl.hpp"
#include "gpu/nvml.hpp"
#include "gpu/stream.hpp"
#include "runtime/gpu_lock.hpp"

#include <hotgemm/hotgemm.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace hotgemm::standin {

/// The factor by which this build is slower than one without sanitizers, for budgets that tests give.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSanitizerFactor = 3;
#else
inline constexpr double kSanitizerFactor = 1;
#endif

/// A directory that is removed with this object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotgemm-standin-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// All kernels that tests have compiled, kept for later tests and runs: a read-only layer of the tests' caches. It
/// holds no records.
class KernelShelf {
 public:
  static std::string path() {
    return (std::filesystem::temp_directory_path() / ("hotgemm-standin-tests-" + std::to_string(::geteuid()))).string();
  }
  /// Copies new kernels from the cache at `cache`.
  static void add(const std::filesystem::path& cache) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    for (const auto& item : fs::recursive_directory_iterator(cache / "v1" / "cubin", ignored)) {
      if (item.path().extension() != ".hgk") continue;
      const fs::path to = path() / item.path().lexically_relative(cache);
      if (fs::exists(to, ignored)) continue;
      make_private(to.parent_path());
      const fs::path unfinished = to.string() + "." + std::to_string(::getpid());
      fs::copy_file(item.path(), unfinished, ignored);
      fs::rename(unfinished, to, ignored);  // atomic, because other tests may be reading
    }
  }

 private:
  static void make_private(const std::filesystem::path& directory) {
    if (std::filesystem::exists(directory)) return;
    if (directory != path()) make_private(directory.parent_path());
    std::error_code ignored;
    std::filesystem::create_directory(directory, ignored);
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, ignored);
  }
};

/// Collects hotgemm's log messages at "warn" and above during its lifetime.
class Warnings {
 public:
  Warnings() {
    set_log_level("warn");
    set_log_sink([this](std::string_view, std::string_view message) {
      const std::lock_guard guard(mutex_);
      all_.emplace_back(message);
    });
  }
  ~Warnings() { set_log_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::vector<std::string> take() {
    const std::lock_guard guard(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

/// Sets the environment of the tests: no settings of the user, and the kernels of the shelf.
inline void set_test_environment() {
  for (const char* name :
       {"HOTGEMM_TUNE", "HOTGEMM_CACHE", "HOTGEMM_CACHE_DIR", "HOTGEMM_CACHE_TRUST", "HOTGEMM_CACHE_MAX_SIZE",
        "HOTGEMM_CACHE_MAX_MEMORY", "HOTGEMM_TEMPLATE_DIR", "HOTGEMM_WORKSPACE_BYTES", "HOTGEMM_OBJECTIVE",
        "HOTGEMM_MAX_PLANS", "HOTGEMM_PROBLEM_LOG"}) {
    ::unsetenv(name);
  }
  ::setenv("HOTGEMM_CACHE_PATH", KernelShelf::path().c_str(), 1);
  ::setenv("HOTGEMM_WORKER", "none", 1);
}

/// Tuning options that take little time on the stand-in but have a large budget.
inline TuneOptions quick_tuning(int max_candidates) {
  return {.max_candidates = max_candidates, .budget_s = 100, .scratch_bytes = 1 << 20, .rounds = 2};
}

inline ContextOptions options_in(const std::filesystem::path& cache, Policy policy, int max_candidates = 2) {
  ContextOptions options;
  options.policy = policy;
  options.tuning = quick_tuning(max_candidates);
  options.cache_directory = cache.string();
  return options;
}

/// Makes all kernels so slow that a race needs no probes and only few launches.
inline void make_all_slow() { standin().set_speed("hotgemm_", 1000); }

/// A case with 16-byte alignment.
inline GemmCase small_case(std::int64_t m = 8, std::int64_t n = 16, std::int64_t k = 8, float beta = 0) {
  GemmCase result;
  result.problem = {.m = m, .n = n, .k = k};
  result.set_tight_ld(8);
  result.beta = beta;
  return result;
}

/// Runs `call` on integer data. Fails unless all bits of D are right and nothing else was written. Results of an
/// activation that is a curve may be off by their gates.
inline void expect_right(const GemmCase& c, CUstream stream, const CaseRun::Launch& call, unsigned seed = 1) {
  SCOPED_TRACE(c.text());
  CaseRun run(Driver::get(), c, stream);
  run.fill(CaseRun::Data::integers, seed);
  run.run(call);
  if (emulate::is_exact(c.problem.epilogue)) {
    EXPECT_EQ(run.inexact(), "");
  } else {
    EXPECT_LE(run.worst_error(), 1.0);
  }
  EXPECT_EQ(run.stray_write(), "");
}
/// Expects it of Context::gemm.
inline void expect_right(Context& context, const GemmCase& c, CUstream stream, unsigned seed = 1) {
  expect_right(
      c, stream, [&](const Operands& o) { context.gemm(stream, c.problem, o); }, seed);
}

/// The code and the message of the Error that a call throws.
struct Thrown {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};
template <class Call>
Thrown thrown_by(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}
template <class Call>
void expect_thrown(ErrorCode code, const std::vector<std::string>& parts, Call&& call) {
  const Thrown thrown = thrown_by(call);
  EXPECT_EQ(to_string(thrown.code), to_string(code)) << thrown.message;
  for (const std::string& part : parts) EXPECT_THAT(thrown.message, testing::HasSubstr(part));
}

/// Calls on the operands of a case. Each expects that a problem is refused as an invalid argument, by a message that
/// has all `parts`, if `spoil` has changed the operands.
class RefusedCalls {
 public:
  RefusedCalls(Context& context, const GemmCase& c, CUstream stream)
      : context_(context), stream_(stream), run_(Driver::get(), c, stream) {
    run_.fill(CaseRun::Data::integers, 1);
  }
  Operands operands() { return run_.operands(); }
  void operator()(const Problem& problem, const std::vector<std::string>& parts,
                  const std::function<void(Operands&)>& spoil) {
    Operands spoiled = operands();
    spoil(spoiled);
    expect_thrown(ErrorCode::invalid_argument, parts, [&] { context_.gemm(stream_, problem, spoiled); });
  }

 private:
  Context& context_;
  CUstream stream_;
  CaseRun run_;
};

/// The number of live handles of each kind.
inline std::map<Kind, std::size_t> live_handles() {
  std::map<Kind, std::size_t> live;
  for (const Kind kind : {Kind::context, Kind::module, Kind::function, Kind::stream, Kind::event, Kind::graph,
                          Kind::graph_exec, Kind::allocation}) {
    live[kind] = standin().live(kind);
  }
  return live;
}

/// Runs hotgemm on the stand-in with a current CUDA context, a stream, and a cache without records. At the end of the
/// test there must be no misuse of the driver and no remaining handle.
class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    standin().reset();
    make_all_slow();
    set_test_environment();
    ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&cuda_context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver_.cuCtxSetCurrent(cuda_context_), CUDA_SUCCESS);
    before_ = live_handles();
    stream_.emplace(driver_);
  }
  void TearDown() override {
    context_.reset();
    stream_.reset();
    EXPECT_THAT(standin().violations(), testing::IsEmpty());
    EXPECT_EQ(live_handles(), before_);
    standin().reset();
    remove_gpu_lock();
    driver_.cuDevicePrimaryCtxRelease(0);
    driver_.cuCtxSetCurrent(nullptr);
    if (has_real_kernels_) KernelShelf::add(cache_.path());
  }

  /// Removes the file of GpuLock. The stand-in's GPUs have another one in each process.
  void remove_gpu_lock() const {
    std::error_code ignored;
    for (const std::filesystem::path& directory : gpu_lock_directories()) {
      std::filesystem::remove(directory / ("gpu-" + bus_id(driver_, 0) + ".lock"), ignored);
    }
  }

  bool has_real_kernels_ = true;  ///< false: the cubins of this test are not for other tests

  /// The test's Context, made by the first call.
  Context& context(Policy policy = Policy::tune, int max_candidates = 2) {
    if (!context_) context_.emplace(options(policy, max_candidates));
    return *context_;
  }
  void forget_context() { context_.reset(); }
  ContextOptions options(Policy policy, int max_candidates = 2) const {
    return options_in(cache_.path(), policy, max_candidates);
  }
  std::vector<Found> records() { return impl_of(context()).engine().database.all(); }
  CUstream stream() const { return stream_->get(); }

  const Driver& driver_ = (standin(), Driver::get());
  ScratchDirectory cache_;
  Warnings warnings_;
  CUcontext cuda_context_ = nullptr;
  std::map<Kind, std::size_t> before_;
  std::optional<OwnedStream> stream_;
  std::optional<Context> context_;
};

}  // namespace hotgemm::standin
