#pragma once

#include <hotgemm/export.hpp>
#include <hotgemm/plan.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The actions that are allowed for a problem class that has not been planned yet.
enum class Policy {
  cached_only,  ///< what `estimate` would pick must lie in the cache, else Error{not_prepared}: nothing is compiled
  estimate,     ///< never measure: exact record, else nearest record by the model, else the model
  tune,         ///< measure unseen classes within a budget, and record the result
};
HOTGEMM_API std::string_view to_string(Policy policy);

struct TuneOptions {
  int max_candidates = 20;                               ///< compiled, checked and timed per problem, anchors included
  double budget_s = 2.0;                                 ///< of measuring, per problem; the best so far is kept
  std::int64_t scratch_bytes = std::int64_t{512} << 20;  ///< of device memory
  int jobs = 0;            ///< compile threads; 0: what the machine and NVRTC are good for
  int rounds = 7;          ///< of the final comparison
  std::uint64_t seed = 1;  ///< of the data, and of the order of measurements
};

struct ContextOptions {
  Policy policy = Policy::tune;
  TuneOptions tuning;
  /// The most device memory that the library keeps for kernels' workspace, in all CUDA contexts together. A class whose
  /// best kernel needs more gets another kernel. 0: only kernels that need none.
  std::int64_t workspace_bytes = std::int64_t{256} << 20;
  /// For how many captures, or streams of a capture, planning a class sets workspace apart. Planning the class again by
  /// Context::plan replaces what captures took. A capture that finds none is of a kernel that needs none.
  int workspace_captures = 2;
  std::string cache_directory;     ///< of cubins and records; empty: HOTGEMM_CACHE_DIR, else the user's cache directory
  std::string template_directory;  ///< kernels are compiled from there; empty: HOTGEMM_TEMPLATE_DIR, else as built in

  /// The defaults, with what HOTGEMM_TUNE (never: Policy::estimate; missing: Policy::tune) and
  /// HOTGEMM_WORKSPACE_BYTES ("512M") say. Throws Error{invalid_argument} for another value.
  HOTGEMM_API static ContextOptions from_environment();
};

/// Counts of events since the context was made.
struct Stats {
  std::uint64_t plans = 0;              ///< problem classes planned
  std::uint64_t tuned = 0;              ///< of these, measured now
  std::uint64_t recorded = 0;           ///< answered by an exact record
  std::uint64_t nearest = 0;            ///< answered by another class's record
  std::uint64_t estimated = 0;          ///< answered by the model alone
  std::uint64_t compiled = 0;           ///< kernels compiled, candidates included
  std::uint64_t without_workspace = 0;  ///< launches that found no workspace left, and ran a kernel that needs none
};

/// A candidate that the tuner did not pick: "build", "load", "check" or "measure", and why.
struct Rejection {
  std::string config;
  std::string stage;
  std::string reason;
};

struct TuneResult {
  Workload problem;
  std::string config;  ///< the pick; empty if there is none
  std::string launch;  ///< its raster: "r8m"
  double median_us = 0;
  double tflops = 0;
  int measured = 0;           ///< candidates that were checked and timed
  double seconds = 0;         ///< all of it: compiling, checking, measuring
  bool was_recorded = false;  ///< an earlier record answered; nothing was measured
  std::vector<Rejection> rejections;
  std::string failure;                           ///< why there is no pick
  ErrorCode failure_code = ErrorCode::internal;  ///< where `failure` is not empty
};

struct PrewarmOptions {
  std::vector<std::string> archs;  ///< "sm_90a", …
  int jobs = 0;
  bool candidates = false;  ///< also what the tuner would compile
  /// Called after each kernel with how many are done and how many there are; returns whether to go on. On one of the
  /// compile threads, one call at a time: the next kernel's call waits for this one. No other lock is held, and the
  /// Context may be used. What it throws ends the prewarm, which throws it as an Error (see Context::prewarm).
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

/// One kernel for one problem and architecture.
struct PrewarmEntry {
  Workload problem;
  std::string arch;
  std::string config;
  Origin origin = Origin::estimated;
  bool from_cache = false;
  Resources resources;
  std::string failure;  ///< why it could not be built
};

struct PrewarmReport {
  std::vector<PrewarmEntry> entries;  ///< what would be picked, per problem and architecture
  std::size_t compiled = 0;           ///< distinct kernels
  std::size_t cached = 0;
  std::size_t failed = 0;
};

/// The library's state: caches, records, compiler, and the plans of every CUDA context it has been used in.
///
/// Thread-safe. Planning is single-flight per problem class, launching is concurrent. A child of fork() gets
/// Error{forked} if its parent had used CUDA here. Destroying it unloads the kernels of the CUDA context that is
/// current then, and forgets those of others.
class Context {
 public:
  HOTGEMM_API explicit Context(const ContextOptions& options = ContextOptions::from_environment());
  HOTGEMM_API ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The context of hgemm. It is made on first use from the environment and never destroyed.
  HOTGEMM_API static Context& default_context();

  /// Enqueues D = alpha * op(A) * op(B) + beta * C on `stream` in the current CUDA context.
  ///
  /// Alignment and beta are read off `operands` (see `describe`). A class that is new is planned first, by the policy.
  /// On a capturing stream that means without measuring, allocating or waiting. m or n of zero does nothing; k or alpha
  /// of zero gives beta * C. Throws Error{invalid_argument, not_supported, not_prepared, …}; then no kernel has been
  /// enqueued, and D keeps its values. The workspace in `operands` may be cleared.
  HOTGEMM_API void gemm(Stream stream, const Problem& problem, const Operands& operands);

  /// The plan that gemm would use, made now: everything is compiled and loaded when it returns. The hints are
  /// those of `describe`, or with `Workload(problem)` of packed operands. With `stream`, what was said of capturing
  /// streams holds for it.
  HOTGEMM_API Plan plan(const Workload& problem, Policy policy, Stream stream = nullptr);
  HOTGEMM_API Plan plan(const Workload& problem);  ///< by the context's policy

  /// Measures each problem on the current CUDA context's GPU and records the picks, whatever the policy. Problems with
  /// a current record are answered from it unless `retune`. Failures are results.
  ///
  /// `progress` is called after each problem, on the calling thread and with no lock held; it returns whether to go on.
  /// An Error that it throws comes out as it is, anything else as Error{interrupted} with its text. The measurements
  /// until then are recorded.
  HOTGEMM_API std::vector<TuneResult> tune(std::span<const Workload> problems, const TuneOptions& options,
                                           bool retune = false,
                                           const std::function<bool(const TuneResult&)>& progress = {});

  /// Compiles what Policy::cached_only needs for each problem and architecture. Needs neither GPU nor libcuda.
  /// An Error that `options.progress` throws comes out as it is, anything else as Error{interrupted} with its text.
  /// Kernels that were compiled until then are in the cache.
  HOTGEMM_API PrewarmReport prewarm(std::span<const Workload> problems, const PrewarmOptions& options);

  HOTGEMM_API Stats stats() const;

 private:
  class Impl;
  friend struct ContextAccess;  // for the project's own command and tests
  std::unique_ptr<Impl> impl_;
};

/// `problem` with the hints that are read off `operands`.
HOTGEMM_API Workload describe(const Problem& problem, const Operands& operands);

/// C = alpha * op(A) * op(B) + beta * C, row-major, tuned on first use: the whole library in one call.
///
/// A is m×k, B is k×n, C is m×n, or the transposes of A and B as stored; leading dimensions in elements. `types` is a
/// preset such as kBf16. Uses Context::default_context(); see Context::gemm for the rest.
HOTGEMM_API void hgemm(Stream stream, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                       const void* a, std::int64_t lda, const void* b, std::int64_t ldb, float beta, void* c,
                       std::int64_t ldc, const Types& types = kF16);

/// Messages go to `sink` instead of stderr; an empty function restores that. Levels: "debug", "info", "warn", "error".
/// `sink` is called on the thread that logs: the caller's or one of the library's, several at a time. The library may
/// hold its own locks meanwhile, so `sink` must not call hotgemm. If `sink` throws, its message goes to stderr.
HOTGEMM_API void set_log_sink(std::function<void(std::string_view level, std::string_view message)> sink);
/// "debug", "info", "warn" (the default, unless HOTGEMM_LOG says otherwise), "error" or "off".
/// Throws Error{invalid_argument}.
HOTGEMM_API void set_log_level(std::string_view level);

}  // namespace hotgemm
