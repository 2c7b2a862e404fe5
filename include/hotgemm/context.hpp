#pragma once

#include <hotgemm/cache.hpp>
#include <hotgemm/objective.hpp>
#include <hotgemm/plan.hpp>
#include <hotgemm/prepacked.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The properties that a plan must have for Context::try_gemm to use it, beside that it is there.
struct Demands {
  bool tuned = false;  ///< its kernel was measured for this class on this GPU model, or is pinned
  /// The record of its class says that the kernel takes at most 1 % longer than cuBLAS's default. Two such measurements
  /// differ by as much, and the call itself takes less of the host's time. A launch without workspace may run another
  /// kernel.
  bool as_fast = false;
  /// If there is no plan, or the records have changed since, a thread of the library makes one soon, without measuring,
  /// so that later calls find it; but not one that would not meet the other demands. Loading its kernel waits for the
  /// kernels that run in the CUDA context. Only primary CUDA contexts are served. Each class is tried once; again if
  /// its plan was evicted, and after `reload` and `forget`.
  bool prepare_later = false;
};

/// The actions that are allowed for a problem class that has not been planned yet.
enum class Policy {
  cached_only,  ///< pick as `estimate` does, but compile nothing: Error{not_prepared} if the kernel is not in the cache
  estimate,     ///< never measure: use an exact record, else a near one that the model expects to hold, else the model
  /// Measure unseen classes within a budget, and record the result. The call that meets a class first waits for it, at
  /// most TuneOptions::budget_s and one compilation; all others get the estimate meanwhile.
  tune,
  /// Runs a new class with a kernel that is loaded until the one of `estimate` is, if it is expected to take at most
  /// three times the least possible time, or 50 µs more than that; else as `estimate`. Later measures the classes that
  /// recur, beside the program's work: see BackgroundOptions.
  background,
};
/// "cached_only", "estimate", "tune", "background".
std::string_view to_string(Policy policy);

/// The limits of a tuning.
struct TuneOptions {
  int max_candidates = 20;  ///< compiled, checked and timed per problem, anchors included
  /// Seconds for a problem, from the first compilation to the last measurement; the best so far is kept. Candidates
  /// that are not compiled, checked or timed by then are left out. A launch that has begun may end later, and so may
  /// the compilation of the kernel that Policy::estimate picks. `hotgemm tune` counts only measuring.
  double budget_s = 2.0;
  std::int64_t scratch_bytes = std::int64_t{512} << 20;  ///< of device memory, for operands
  /// The largest part of the GPU's free memory, as it is when a tuning begins, that operands take; from 0 to 1. The
  /// smaller of both limits counts. A problem whose operands exceed it is not tuned: a call runs the estimate, and
  /// Context::tune gives a result with ErrorCode::out_of_memory. `hotgemm tune` counts only `scratch_bytes`.
  double scratch_share = 0.5;
  /// Compile threads; 0: chosen for the machine and NVRTC. A process has one pool of them for all calls, at low
  /// priority.
  int jobs = 0;
  int rounds = 7;          ///< for the final comparison
  std::uint64_t seed = 1;  ///< for the data and the order of measurements
};

/// Tuning under Policy::background. A thread of the library measures the classes that recur, in short slices with
/// pauses between them, and then exchanges their kernels. If a class runs an interim kernel, the thread also compiles
/// and loads the better one. It begins with the class that promises to save the most time: the number of its calls,
/// times the time of one, times the expected gain. It works in primary CUDA contexts only, which are those of the CUDA
/// runtime. `max_candidates`, of which it takes at most ten, `scratch_share`, `rounds` and `seed` of TuneOptions hold
/// here too. It tries each config in its usual raster only.
struct BackgroundOptions {
  double gpu_share = 0.01;  ///< the largest part of a GPU's time that measuring takes; above 0, at most 1
  /// Seconds for which kernels run without a pause. A class whose predicted call takes longer, or may reach the power
  /// cap, is not measured.
  double slice_s = 4e-3;
  std::uint64_t min_calls = 2;  ///< calls of a class before it is worth measuring. A replayed graph does not count.
  std::int64_t scratch_bytes = std::int64_t{512} << 20;  ///< of device memory, for operands
  int jobs = 0;  ///< compile threads, at low priority; 0: a quarter of the cores, at least one
  /// False: a measured pick is recorded only, and Context::reload exchanges the plan; first calls load their kernels.
  /// Loading a kernel waits for every kernel that runs in the CUDA context, and holds up the launches of all threads
  /// meanwhile. A program whose kernels wait for later launches, as persistent ones and collectives may, chooses the
  /// moment by itself.
  bool loads_kernels = true;
};

/// The options of a Context. Each has an environment variable or is set by the program only: docs/environment.md.
struct ContextOptions {
  Policy policy = Policy::background;  ///< for problem classes that are new
  TuneOptions tuning;                  ///< within calls, and by `tune`
  BackgroundOptions background;        ///< beside the program's work
  /// Seconds that tuning within calls of gemm and plan, and in the background, may take in this Context all together.
  /// The time of each tuning within a call is within it: the last one gets what is left. The background may exceed it
  /// by one class. After that, classes that are new run the estimate. Context::tune does not count.
  /// Error{invalid_argument} if it is negative or NaN.
  double tuning_total_s = std::numeric_limits<double>::infinity();
  /// The records that are used: those of this objective, and those of the other one where it has none. Tuning within a
  /// call, and Context::tune, are always for speed; `hotgemm tune --objective energy` makes the others.
  Objective objective = Objective::speed;
  /// The most device memory that the library keeps for kernels' workspace, in all CUDA contexts together. A class whose
  /// best kernel needs more gets another kernel. 0: only kernels that need none. A stream keeps its workspace after it
  /// was destroyed until another stream has its handle and a class is planned; a CUDA context keeps it to its end. So
  /// programs with many short-lived streams pass Operands::workspace.
  std::int64_t workspace_bytes = std::int64_t{1} << 30;
  /// The number of slabs of workspace that planning a class reserves for captures: one for each stream of a capture.
  /// Planning the class again by Context::plan replaces the slabs that captures took. If a capture finds no slab, a
  /// kernel that needs no workspace is captured.
  int workspace_captures = 2;
  /// The most plans that are kept in each CUDA context, at least 1. A class beyond them takes the place of the least
  /// recently used ones, a sixteenth of all at a time; an evicted class is planned again when it is used, with another
  /// kernel if the records have changed. A Plan that the program holds stays as it is. Kernels stay loaded, because
  /// graphs may hold them: their number is bounded by the configs, not by the shapes. Plans of problems with
  /// SumOrder::deterministic, and of classes that are pinned, are not counted, and kept as long as this object.
  std::int64_t max_plans = 10'000;
  /// For cubins and records; a relative path is one of the working directory when the Context is made. Empty:
  /// HOTGEMM_CACHE_DIR, else the user's cache directory.
  std::string cache_directory;
  CacheOptions cache;              ///< the rest about the cache
  std::string template_directory;  ///< kernels are compiled from there; empty: HOTGEMM_TEMPLATE_DIR, else as built in
  /// The path of the `hotgemm` command, of this version. Tuning then measures in a process of it, which a bad kernel
  /// may end. Empty: HOTGEMM_WORKER, else the command that was installed with the library, if there is one. "none":
  /// measure in this process. Then only kernels that have passed a check and a race on this GPU model and driver are
  /// measured. If there are too few of these, others are measured behind a mark on disk: a process that ends of one is
  /// the last.
  std::string worker;
  /// The directory to which this object writes the problems that it meets, for `hotgemm tune --shapes`: a file for each
  /// process, with a line for each class when it is first called, and its number of calls at intervals. Empty:
  /// HOTGEMM_PROBLEM_LOG, else no file is written. "none": no file, whatever the variable says.
  std::string problem_log;

  /// Whether the tuning records that ship with hotgemm are read. Without a value: not if HOTGEMM_SHIPPED_RECORDS is
  /// "off".
  std::optional<bool> shipped_records;

  /// The defaults, changed by four variables: HOTGEMM_TUNE (the name of a policy; also never for Policy::estimate, and
  /// missing for Policy::tune), HOTGEMM_OBJECTIVE (speed or energy), HOTGEMM_WORKSPACE_BYTES ("512M") and
  /// HOTGEMM_MAX_PLANS ("20000"). Throws Error{invalid_argument} for any other value of these.
  static ContextOptions from_environment();
};

/// A histogram of times: the number of events whose time is less than 2^i µs and at least 2^(i-1) µs, for each i. The
/// last bucket also counts all longer ones.
struct WaitTimes {
  static constexpr std::size_t kBuckets = 28;  ///< the last begins at 2^26 µs, 67 s

  std::array<std::uint64_t, kBuckets> buckets{};  ///< events of each bucket
  std::uint64_t count = 0;                        ///< events
  double total_s = 0;                             ///< their times together, in seconds
};

/// Counts of events since the context was made. The times are those that calling threads spent, and the thread of the
/// background where it replaces interim kernels; the first one holds the next two.
struct Stats {
  std::uint64_t plans = 0;              ///< problem classes planned
  std::uint64_t tuned = 0;              ///< classes measured, in a call or in the background; may exceed `plans`
  std::uint64_t recorded = 0;           ///< answered by an exact record
  std::uint64_t nearest = 0;            ///< answered by another class's record
  std::uint64_t estimated = 0;          ///< answered by the model alone
  std::uint64_t compiled = 0;           ///< kernels compiled, candidates included
  std::uint64_t without_workspace = 0;  ///< launches that found no workspace left, and ran a kernel that needs none
  std::uint64_t launches = 0;           ///< calls of Context::gemm and Plan::launch that enqueued work
  std::uint64_t declined = 0;           ///< calls of Context::try_gemm that returned false
  std::uint64_t live_plans = 0;         ///< kept now, in all CUDA contexts together
  std::uint64_t evictions = 0;          ///< plans that ContextOptions::max_plans pushed out
  std::uint64_t exchanged = 0;          ///< plans that tuning in the background has replaced
  std::uint64_t waiting_classes = 0;    ///< classes that wait now to be tuned in the background
  std::uint64_t refused_cubins = 0;     ///< cubins that the driver refused to load
  WaitTimes planning;                   ///< of a new class, by the thread whose turn it was
  WaitTimes compiling;                  ///< of kernels that a plan needed; candidates of a tuning are not among them
  WaitTimes tuning;                     ///< of a class within gemm or plan
  WaitTimes waiting;                    ///< for another thread that planned the same class
};

/// The things about a problem class that Context::forget forgets.
enum class Forget {
  plan,              ///< the plan, and that the class was pinned
  plan_and_records,  ///< these, and the records in the user's layer
};

/// The numbers of plans and records that Context::forget has dropped.
struct ForgetReport {
  std::size_t plans = 0;    ///< in all CUDA contexts together
  std::size_t records = 0;  ///< that this object no longer uses
  std::size_t segments_in_use =
      0;  ///< files of records that were left alone, because a process may be appending to them
};

/// A candidate that the tuner rejected.
struct Rejection {
  std::string config;  ///< its name
  std::string stage;   ///< "build", "load", "check" or "measure"
  std::string reason;  ///< a kind, a colon, and what was seen
};

/// The result of Context::tune for one problem.
struct TuneResult {
  Workload problem;                              ///< as it was given
  std::string config;                            ///< the pick; empty if there is none
  std::string launch;                            ///< how it is launched: "r8m", …
  double median_us = 0;                          ///< of a launch of the pick
  double tflops = 0;                             ///< 2mnk operations in that time
  int measured = 0;                              ///< candidates that were checked and timed
  double seconds = 0;                            ///< total time of compiling, checking and measuring
  bool was_recorded = false;                     ///< an earlier record answered; nothing was measured
  std::vector<Rejection> rejections;             ///< candidates that were dropped
  std::string failure;                           ///< why there is no pick; empty if there is one
  ErrorCode failure_code = ErrorCode::internal;  ///< set if `failure` is not empty
};

/// The architectures for which Context::prewarm compiles, and how it does that.
struct PrewarmOptions {
  std::vector<std::string> archs;  ///< "sm_90a", …
  int jobs = 0;                    ///< compile threads; 0: chosen for the machine and NVRTC
  bool candidates = false;         ///< also compile the kernels that the tuner would compile
  /// Called after each kernel with the number of kernels done and the number of all. Returns true to continue. It is
  /// called on one of the compile threads, one call at a time: the call for the next kernel waits for this one. No
  /// other lock is held, so it may use the Context. An exception ends the prewarm, which throws it as an Error (see
  /// Context::prewarm).
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

/// One kernel for one problem and architecture.
struct PrewarmEntry {
  Workload problem;                   ///< as it was given
  std::string arch;                   ///< "sm_90a", …
  std::string config;                 ///< its name
  Origin origin = Origin::estimated;  ///< who chose the config
  bool from_cache = false;            ///< it was there before
  Resources resources;                ///< of the kernel
  std::string failure;                ///< why it could not be built; "interrupted" if that was not begun
};

/// Numbers of distinct kernels. All is prepared if none failed, all were started, and as many are stored as were
/// compiled or cached.
struct PrewarmReport {
  std::vector<PrewarmEntry> entries;  ///< the kernel that would be picked, per problem and architecture
  std::size_t compiled = 0;           ///< by this call
  std::size_t cached = 0;             ///< found in the cache
  std::size_t failed = 0;             ///< could not be compiled
  std::size_t stored = 0;  ///< of those compiled and cached: lie in a layer on disk, where later processes find them
  std::size_t not_started = 0;  ///< because `progress` returned false
  bool interrupted = false;     ///< `progress` returned false
  std::string store_failure;    ///< why kernels lie in no layer, with the directory; empty if all do
};

/// The library's state: caches, records, the compiler, and the plans of every CUDA context in which it has been used.
///
/// Thread-safe. Only one thread at a time plans a problem class, and only one tunes it; other threads do not wait for
/// tuning, but get the estimate until it has ended. Launches run concurrently. A child of fork() gets Error{forked} if
/// its parent had used CUDA through this library.
///
/// Calls with a stream use the current CUDA context. A thread that has none gets, for the time of the call, the context
/// of the stream. The null stream, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD belong to no context by themselves: with
/// these, and in calls without a stream, such a thread gets Error{no_device}; cudaSetDevice, cudaFree(0) or
/// cuCtxSetCurrent give it one. No call changes the caller's current context.
///
/// The destructor unloads the kernels and frees the workspace of the current CUDA context, and of every primary context
/// that is still alive, which is each context of the CUDA runtime. It may wait for the GPU, as unloading does. Another
/// context, made by cuCtxCreate, may no longer exist, and the driver has no safe way to ask: unless it is current, it
/// keeps the kernels until it is destroyed. Graphs that captured launches hold neither kernels nor the library's
/// workspace: destroy them, or let them go unused, before the Context. Plans may be dropped after it.
class Context {
 public:
  /// Opens caches and records. Needs neither a GPU nor libcuda. Throws Error{invalid_argument} for an option, or a
  /// variable, that has no meaning, and Error{io_error} for a template directory that cannot be read.
  explicit Context(const ContextOptions& options = ContextOptions::from_environment());
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The context of hgemm. It is made on first use from the environment and never destroyed.
  static Context& default_context();
  /// Sets the options of default_context, in place of ContextOptions::from_environment(). Throws
  /// Error{invalid_argument} if it has been made already, and for options for tuning that have no meaning.
  static void configure_default(const ContextOptions& options);

  /// Enqueues D = alpha * op(A) * op(B) + beta * C on `stream` in the current CUDA context.
  ///
  /// The hints come from `operands` (see `describe`). A new problem class is planned first, by the policy. If the
  /// stream is being captured, planning does not measure or allocate, and waits only for a thread that plans the same
  /// new class. If m or n is zero, the call does nothing. If k or alpha is zero, beta * C goes through the epilogue.
  /// Throws Error{invalid_argument, not_supported, not_prepared, …}; in that case no kernel has been enqueued, and D
  /// keeps its values. The workspace in `operands` may have been cleared.
  void gemm(Stream stream, const Problem& problem, const Operands& operands);

  /// As gemm, if the plan of the problem's class is in the current CUDA context and meets `demands`; returns true. Else
  /// declines: returns false at once, without planning, compiling, loading or waiting, and nothing is enqueued. For
  /// programs that have another product to fall back on. Throws Error as gemm does.
  bool try_gemm(Stream stream, const Problem& problem, const Operands& operands, const Demands& demands);

  /// Enqueues on `stream` a copy of `operand` of `problem` into its prepacked form, for weights that many calls read.
  ///
  /// The operand is stored at `from`, with rows `ld` elements apart. Its copy takes prepacked_size(…).bytes at `to`:
  /// device memory of the caller, at a multiple of 16 bytes. The calls that read the copy pass `to` and
  /// PrepackedSize::ld, in a problem whose prepacked_a or prepacked_b is true. They may follow on the same stream at
  /// once, and need no workspace for this operand. If the weights change, pack them again. An operand without elements
  /// is not read.
  ///
  /// Launches one kernel: nothing is allocated or waited for, and the call is legal during stream capture. The first
  /// call in a CUDA context loads the kernel. If it is not in the cache, it is compiled, or under
  /// Policy::cached_only the call throws Error{not_prepared}. Prewarming a problem whose prepacked_a or prepacked_b is
  /// true puts it there. Throws Error{invalid_argument, not_supported, not_prepared, …}; in that case nothing has been
  /// enqueued.
  void pack(Stream stream, const Problem& problem, Operand operand, const void* from, std::int64_t ld, void* to);

  /// A function for Epilogue::function, which kernels of this Context may have from now on. `source` names up to four
  /// operands, each in a line of its own as `scalar NAME`, `row NAME`, `column NAME` or `matrix NAME`, and then is a
  /// C++ expression of them and of value, row, column and batch: "column scale\n30 * tanh(scale * value / 30)".
  /// docs/epilogues.md says more. `name` is the name of its file in messages of the compiler. Nothing is compiled here:
  /// an expression that is wrong is Error{compile_failed} of the first call or prewarm that needs it. Throws
  /// Error{invalid_argument} for a source that has no such form. Equal sources give equal values, in every process.
  EpilogueFunction add_function(std::string_view source, std::string_view name = "epilogue");

  /// The plan that gemm would use. Its kernel is compiled and loaded when the function returns; for a problem with
  /// prepacked operands the kernel of `pack` is, too. The hints of a workload come from `describe`; `Workload(problem)`
  /// has those of packed operands. If `stream` is being captured, planning does not measure or allocate, and waits only
  /// for a thread that plans the same new class. The same holds for the null stream while another stream, which
  /// synchronises with it, is being captured: that capture stays valid, and a later call may tune.
  Plan plan(const Workload& problem, Policy policy, Stream stream = nullptr);
  Plan plan(const Workload& problem);  ///< by the context's policy

  /// Replaces `plan` by the present plan of its class, if that is another one: under Policy::background the class may
  /// have been measured since. Returns true if it did. A graph that captured a launch keeps the former kernel. Makes no
  /// plan: one that reload has found outdated in another CUDA context is renewed by gemm or plan first.
  bool refresh(Plan& plan);

  /// Waits until no class waits to be measured in the background, or until `deadline`, or until the total of
  /// ContextOptions::tuning_total_s is used up; returns true in the first case. Meanwhile classes count that were only
  /// planned, or called once, and measuring makes no pauses, whatever BackgroundOptions says: this is for a program
  /// that has met its problems, and has nothing else to do.
  bool wait_tuned(std::chrono::steady_clock::time_point deadline);

  /// Stops the tuning within calls and in the background, until it is resumed: after this call no new measurement
  /// begins. One that goes on in a call ends as by cancel_tuning. A measurement in the background ends after its slice.
  /// Its times are lost, and the class waits again. Calls get the estimate meanwhile. Context::tune is not paused.
  /// Calls of pause_tuning do not add up.
  void pause_tuning();
  void resume_tuning();  ///< takes pause_tuning back
  /// Ends the tunings that go on in calls of other threads and in the background. One in a call ends after the launch
  /// or the compilation that runs, with the best so far, as a provisional record; if nothing was timed, with the
  /// estimate, and the class is tried again after a pause of at least 10 s. In the background nothing is recorded, and
  /// the class is tried again after 30 s. `tune` ends with the problem that it measures. Does not wait for them. Later
  /// calls tune as before: see pause_tuning.
  void cancel_tuning();

  /// Forgets the plan of the problem's class in every CUDA context, and that it was pinned: the next call plans it
  /// anew. Deterministic sums may get another kernel by this, and other bits. Plans that the program holds stay usable.
  ///
  /// With Forget::plan_and_records the records of the class, for all GPUs and objectives, are removed from the user's
  /// layer too, in memory and on disk, which compacts the files as `hotgemm db prune` does; records of lower layers
  /// stay. Files to which another process may be appending are left alone: reload and other processes find their
  /// records. Throws Error{io_error} if the files cannot be changed; then plans and memory have forgotten the class.
  ///
  /// Waits for a thread that plans the class. A tuning of the class that goes on is not ended, and will be recorded.
  ForgetReport forget(const Workload& problem, Forget what = Forget::plan);

  /// Reads the records of all layers from disk again, and what other processes have rejected and vetted: `hotgemm tune`
  /// may have run beside this process. Returns the number of plans whose class has another best kernel in the records
  /// now. Those of the current CUDA context are replaced before the function returns, which may compile kernels; those
  /// of others by their next call outside of a capture. If the new plan cannot be made, the former stays. A class whose
  /// kernel the records confirm gets a plan of the same kernel that says so. All other
  /// plans stay as they are, and so do plans of SumOrder::deterministic and of pinned classes, and plans that the
  /// program holds. Needs no CUDA context.
  std::size_t reload();

  /// From now on the class of `problem` runs `config`, in every CUDA context of this object: it is neither tuned within
  /// calls or in the background nor evicted, and `pin` records nothing. Context::tune of the class still records. The
  /// names are those of `hotgemm show`, Plan::config and TuneResult; an empty `launch` stands for the model's choice.
  /// It lasts until `forget`, or until an empty `config` is pinned: that drops the plan, also of a class that was never
  /// pinned, and the next call plans it anew. Loads the kernel in the current CUDA context, and compiles it if it is
  /// not in the cache. Under Policy::cached_only it throws Error{not_prepared} instead.
  ///
  /// Throws Error{invalid_argument} if there is no such config or launch; Error{not_supported}, with the reason, if it
  /// cannot compute the class on the GPU of one of the CUDA contexts: by its limits, the alignment, the order of sums,
  /// the SM limit or the cap of workspace; and the errors of plan. Then nothing has changed. If the config cannot
  /// compute the class on the GPU of a CUDA context that is used later, the class runs there as if it were not pinned,
  /// and the log says so.
  void pin(const Workload& problem, std::string_view config, std::string_view launch = {});

  /// Measures each problem on the GPU of the current CUDA context and records the picks, whatever the policy is.
  /// Without `retune`, a problem with a current record is answered from it and not measured, unless its search was
  /// disturbed or cut short. A problem that fails gives a result with the failure, not an exception. Throws
  /// Error{invalid_argument} for options that have no meaning.
  ///
  /// `progress` is called after each problem, on the calling thread and with no lock held; it returns true to continue.
  /// If it throws an Error, tune throws the same Error; any other exception becomes Error{interrupted} with its text.
  /// The measurements until then are recorded. Plans of the problems' classes are replaced if the records name other
  /// kernels, as `reload` does it.
  std::vector<TuneResult> tune(std::span<const Workload> problems, const TuneOptions& options, bool retune = false,
                               const std::function<bool(const TuneResult&)>& progress = {});

  /// Compiles the kernels that Policy::cached_only needs for each problem and architecture. Needs neither a GPU nor
  /// libcuda. If `options.progress` throws an Error, prewarm throws the same Error; any other exception becomes
  /// Error{interrupted} with its text. Kernels that were compiled until then are in the cache.
  PrewarmReport prewarm(std::span<const Workload> problems, const PrewarmOptions& options);

  Policy policy() const;  ///< ContextOptions::policy
  Stats stats() const;    ///< the counts so far
  /// A digest of what decides picks without measuring: the records of all layers in canonical order, the templates, the
  /// version, the objective and the cap of workspace. 64 hex digits. Ranks on GPUs of one model, with one driver and
  /// compiler, pick the same kernels for the same problems under Policy::estimate and Policy::cached_only if it is the
  /// same for all: a program compares it once after it has made its Context. Records that are added or reloaded change
  /// it. Reads every record: some milliseconds for a thousand.
  std::string records_digest() const;
  /// The numbers of stats(), and those of the kernel cache, as Prometheus text (version 0.0.4): counters named
  /// hotgemm_…_total, gauges and histograms in seconds, each with its HELP and TYPE. docs/metrics.md lists them. Waits
  /// for no other thread's planning.
  std::string metrics() const;

 private:
  class Impl;
  friend struct ContextAccess;  // for the project's own command and tests
  std::unique_ptr<Impl> impl_;
};

/// `problem` with the hints that hold for `operands`.
Workload describe(const Problem& problem, const Operands& operands);

/// C = alpha * op(A) * op(B) + beta * C, row-major: the whole library in one call. By default a class that recurs is
/// tuned in the background.
///
/// op(A) is m×k, op(B) is k×n and C is m×n. Leading dimensions are in elements of the matrices as stored. `types` is a
/// preset such as kBf16. Uses Context::default_context(); see Context::gemm for errors and planning.
void hgemm(Stream stream, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const void* a,
           std::int64_t lda, const void* b, std::int64_t ldb, float beta, void* c, std::int64_t ldc,
           const Types& types = kF16);

/// Sends messages to `sink` instead of stderr; an empty function restores stderr. The levels are "debug", "info",
/// "warn" and "error". `sink` is called on the thread that logs: a thread of the caller or of the library, several at a
/// time. The library may hold its own locks meanwhile, so `sink` must not call hotgemm. If `sink` throws, the message
/// goes to stderr. When the function returns, no thread runs the former sink.
void set_log_sink(std::function<void(std::string_view level, std::string_view message)> sink);

/// Sets the file from which a library is opened. No other is tried, not even the one that HOTGEMM_LIBCUDA,
/// HOTGEMM_LIBNVRTC, HOTGEMM_LIBCUBLAS or HOTGEMM_LIBCUBLASLT names. `library` is "libcuda", "libnvrtc", "libcublas" or
/// "libcublasLt"; an empty `path` takes the setting back. It holds for the process. Throws Error{invalid_argument} for
/// another name, and if the library has been looked for already.
void set_library_path(std::string_view library, std::string_view path);
/// Sets the lowest level of messages that are logged: "debug", "info", "warn", "error" or "off". The default is the
/// value of HOTGEMM_LOG, else "warn". Throws Error{invalid_argument}.
void set_log_level(std::string_view level);

}  // namespace hotgemm
