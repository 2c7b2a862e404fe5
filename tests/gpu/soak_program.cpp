// soak_program [--calls N] [--threads T] [--gpus all|one] [--policy NAME] [--share S] [--seconds S] [--shapes N]
//              [--max-size N] [--seed N] [--fill-memory] [--max-wait-ms MS] [--max-growth-mib MIB]
//
// Runs N calls of Context::gemm on T threads: random shapes below 512 in each dimension, all layouts, f16 and bf16, any
// leading dimension, pointers of any alignment, beta 0 or 1, and now and then a captured graph. The operands are the
// data of the project's exact check, so every bit of every result is compared, on the GPU. Needs a GPU, or the stand-in
// (HOTGEMM_LIBCUDA). The cache and all else follow the environment, as in a program.
//
// Fails if a result is wrong, if a call throws, if a call behind the warm-up takes the host longer than --max-wait-ms,
// or if memory of the process or of a GPU grows by more than --max-growth-mib after the warm-up: a call
// of each shape, and a twentieth of all calls. With --fill-memory only 128 MiB of each GPU are free behind the warm-up.

#include "config/render.hpp"
#include "context_impl.hpp"
#include "gpu/check_kernels.hpp"
#include "gpu/device.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/soak_shapes.hpp"
#include "gpu/stream.hpp"
#include "runtime/counters.hpp"

#include <hotgemm/hotgemm.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <latch>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBatch = 16;            // calls between two checks
constexpr std::int64_t kCallsPerGraph = 1000;  // of a thread
constexpr int kCallsInGraph = 3;
constexpr int kReplays = 2;
constexpr double kMiB = 1 << 20;
constexpr std::size_t kLeftFree = std::size_t{128} << 20;

double rss_mib() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / kMiB;
}

/// A GPU with the A, B and C of all shapes. It is current on the thread that made it, until it is destroyed.
class SoakGpu {
 public:
  SoakGpu(const Driver& driver, Context& context, int ordinal, const std::vector<SoakShape>& shapes)
      : driver_(driver), primary_(driver, ordinal), ordinal_(ordinal) {
    CUdeviceptr bytes = 0;
    const auto room = [&](const SoakPlace& place) {
      const CUdeviceptr at = bytes + 2 * static_cast<CUdeviceptr>(place.offset);
      bytes += (2 * place.elements() + 255) / 256 * 256;
      return at;
    };
    for (const SoakShape& s : shapes) {
      sets_.push_back({.a = room(s.a), .b = room(s.b), .c = room(s.c), .lda = s.a.ld, .ldb = s.b.ld, .ldc = s.c.ld});
    }
    slab_ = DeviceBuffer(driver, bytes);
    const OwnedStream stream(driver);
    driver.check(driver.cuMemsetD8Async(slab_.get(), 0xff, bytes, stream.get()), "poison the operands");  // NaN
    DeviceState& state = impl_of(context).current();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      OperandSet& set = sets_[i];
      for (CUdeviceptr* matrix : {&set.a, &set.b, &set.c}) *matrix += slab_.get();
      OperandSet filled = set;
      filled.d = set.c;  // which is poisoned before it is filled
      filled.ldd = set.ldc;
      filled.c = 0;
      state.check_kernels().fill_check(shapes[i].problem, filled, shapes[i].seed, stream.get());
      state.check_kernels().fill_check_c(shapes[i].problem, set.c, set.ldc, shapes[i].seed, stream.get());
    }
    stream.synchronize();
    Engine& engine = impl_of(context).engine();
    check_ = *engine.builder.build(render_check(state.info().arch, engine.bundle)).cubin;
  }

  int ordinal() const { return ordinal_; }
  const OperandSet& set(std::size_t shape) const { return sets_[shape]; }
  const Cubin& check_cubin() const { return check_; }

  double used_mib() const {
    const auto [free, total] = free_and_total();
    return static_cast<double>(total - free) / kMiB;
  }
  /// Allocates memory until little is left.
  void fill_memory() {
    const PrimaryContext current(driver_, ordinal_);
    for (std::size_t bytes = std::size_t{16} << 30; bytes >= std::size_t{16} << 20;) {
      if (free_and_total().first >= kLeftFree + bytes) {
        ballast_.emplace_back(driver_, bytes);
      } else {
        bytes /= 2;
      }
    }
  }
  /// Frees what fill_memory allocated. The GPU must be current.
  void free_ballast() { ballast_.clear(); }

 private:
  std::pair<std::size_t, std::size_t> free_and_total() const {
    const PrimaryContext current(driver_, ordinal_);
    std::size_t free = 0, total = 0;
    driver_.check(driver_.cuMemGetInfo(&free, &total), "ask for free memory");
    return {free, total};
  }

  const Driver& driver_;
  PrimaryContext primary_;
  int ordinal_;
  DeviceBuffer slab_;
  std::vector<OperandSet> sets_;  // [shape]; D belongs to the callers
  Cubin check_;
  std::vector<DeviceBuffer> ballast_;
};

/// The counts of all threads.
struct SoakCounts {
  std::atomic<std::int64_t> left{0};  // calls that no thread has taken
  std::atomic<std::int64_t> calls{0}, wrong{0}, failed{0}, graphs{0};
  std::atomic<std::int64_t> first_ns{0}, later_ns{0};  // the longest call of a new class; of another
  WaitHistogram times;                                 // of the others

  static void raise(std::atomic<std::int64_t>& longest, std::int64_t ns) {
    std::int64_t known = longest;
    while (ns > known && !longest.compare_exchange_weak(known, ns)) {
    }
  }
  /// Takes up to a batch of calls that are left.
  std::int64_t take() {
    const std::int64_t before = left.fetch_sub(kBatch);
    return std::clamp<std::int64_t>(before, 0, kBatch);
  }
};

/// A thread's stream with the Ds of a batch.
class SoakThread {
 public:
  SoakThread(const Driver& driver, Context& context, const SoakGpu& gpu, const std::vector<SoakShape>& shapes,
             SoakCounts& counts, std::uint64_t seed)
      : driver_(driver),
        context_(context),
        gpu_(gpu),
        shapes_(shapes),
        counts_(counts),
        stream_(driver),
        check_(driver, gpu.check_cubin()),
        random_(seed) {
    std::size_t most = 0;
    for (const SoakShape& s : shapes) most = std::max(most, 2 * s.d.elements());
    for (std::int64_t i = 0; i < kBatch; ++i) results_.emplace_back(driver, most);
  }

  /// Calls the shapes from `first` on, one of `step`, each for the first time.
  void warm_up(std::size_t first, std::size_t step) {
    for (std::size_t shape = first; shape < shapes_.size(); shape += step) {
      call_and_check({shape}, counts_.first_ns);
    }
  }
  /// Calls random shapes until no call is left or the time is over.
  void run(Clock::time_point end) {
    while (Clock::now() < end) {
      const std::int64_t count = counts_.take();
      if (count == 0) return;
      std::vector<std::size_t> batch;
      for (std::int64_t i = 0; i < count; ++i) batch.push_back(random_() % shapes_.size());
      call_and_check(batch, counts_.later_ns);
      since_graph_ += count;
      if (since_graph_ >= kCallsPerGraph) capture_and_check();
    }
  }

 private:
  void call_and_check(const std::vector<std::size_t>& batch, std::atomic<std::int64_t>& longest) {
    attempt([&] {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        poison(i, batch[i]);
        const Clock::time_point start = Clock::now();
        call(i, batch[i]);
        const std::chrono::nanoseconds took = Clock::now() - start;
        SoakCounts::raise(longest, took.count());
        if (&longest == &counts_.later_ns) counts_.times.add(took);
      }
      for (std::size_t i = 0; i < batch.size(); ++i) check(i, batch[i]);
    });
  }

  void capture_and_check() {
    since_graph_ = 0;
    attempt([&] {
      std::vector<std::size_t> batch;
      for (int i = 0; i < kCallsInGraph; ++i) batch.push_back(random_() % shapes_.size());
      const OwnedGraph graph = OwnedGraph::capture(driver_, stream_.get(), [&] {
        for (std::size_t i = 0; i < batch.size(); ++i) call(i, batch[i]);
      });
      for (int replay = 0; replay < kReplays; ++replay) {
        for (std::size_t i = 0; i < batch.size(); ++i) poison(i, batch[i]);
        graph.launch(stream_.get());
        for (std::size_t i = 0; i < batch.size(); ++i) check(i, batch[i]);
      }
      ++counts_.graphs;
    });
  }

  template <class Step>
  void attempt(Step&& step) {
    try {
      step();
    } catch (const std::exception& error) {
      if (counts_.failed++ < kMostTold) std::fprintf(stderr, "failed: %s\n", error.what());
    }
  }

  OperandSet set(std::size_t slot, std::size_t shape) const {
    OperandSet set = gpu_.set(shape);
    set.d = results_[slot].get() + 2 * static_cast<CUdeviceptr>(shapes_[shape].d.offset);
    set.ldd = shapes_[shape].d.ld;
    return set;
  }
  void poison(std::size_t slot, std::size_t shape) const {
    driver_.check(driver_.cuMemsetD8Async(results_[slot].get(), 0xff, 2 * shapes_[shape].d.elements(), stream_.get()),
                  "poison D");
  }
  void call(std::size_t slot, std::size_t shape) {
    const SoakShape& s = shapes_[shape];
    context_.gemm(stream_.get(), s.problem,
                  OperandPool::operands(set(slot, shape), static_cast<float>(s.alpha), static_cast<float>(s.beta)));
    ++counts_.calls;
  }
  void check(std::size_t slot, std::size_t shape) const {
    const SoakShape& s = shapes_[shape];
    const std::string text = check_.check(s.problem, set(slot, shape), s.seed, s.alpha, s.beta, stream_.get());
    if (text.empty() || counts_.wrong++ >= kMostTold) return;
    std::fprintf(stderr, "wrong: %s alpha=%d beta=%d: %s\n", to_string(s.problem).c_str(), s.alpha, s.beta,
                 text.c_str());
  }

  static constexpr std::int64_t kMostTold = 10;

  const Driver& driver_;
  Context& context_;
  const SoakGpu& gpu_;
  const std::vector<SoakShape>& shapes_;
  SoakCounts& counts_;
  OwnedStream stream_;
  CheckKernels check_;
  std::vector<DeviceBuffer> results_;
  std::mt19937_64 random_;
  std::int64_t since_graph_ = 0;
};

/// Memory of the process and of all GPUs, in MiB.
struct SoakMemory {
  double process = 0, gpus = 0;

  static SoakMemory now(const std::vector<std::unique_ptr<SoakGpu>>& gpus) {
    SoakMemory memory{.process = rss_mib()};
    for (const auto& gpu : gpus) memory.gpus += gpu->used_mib();
    return memory;
  }
};

/// The threads with the points at which all of them wait.
class Soak {
 public:
  Soak(const SoakOptions& options)
      : options_(options),
        shapes_(make_shapes(options)),
        end_(options.seconds < 1e9 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                        std::chrono::duration<double>(options.seconds))
                                   : Clock::time_point::max()),
        done_{std::latch(options.threads), std::latch(options.threads), std::latch(options.threads)} {
    ContextOptions how = ContextOptions::from_environment();
    how.policy = options.policy;
    how.background.gpu_share = options.share;
    context_ = std::make_unique<Context>(how);
    int count = 1;
    driver_.check(driver_.cuDeviceGetCount(&count), "count the GPUs");
    for (int gpu = 0; gpu < (options.all_gpus ? count : 1); ++gpu) {
      gpus_.push_back(std::make_unique<SoakGpu>(driver_, *context_, gpu, shapes_));
    }
  }
  ~Soak() {
    context_.reset();         // while the CUDA contexts live
    while (!gpus_.empty()) {  // the last one is current
      gpus_.back()->free_ballast();
      gpus_.pop_back();
    }
  }

  /// Returns the exit status.
  int run() {
    for (std::int64_t t = 0; t < options_.threads; ++t) threads_.emplace_back([this, t] { run_thread(t); });
    done_[0].wait();
    if (options_.fills_memory) {
      for (const auto& gpu : gpus_) gpu->fill_memory();
    }
    counts_.left = options_.calls / kSettlingPart;
    may_go_on_[0].count_down();
    done_[1].wait();
    const SoakMemory before = SoakMemory::now(gpus_);
    counts_.left = options_.calls - options_.calls / kSettlingPart;
    const std::int64_t calls_before = counts_.calls;
    const Clock::time_point start = Clock::now();
    may_go_on_[1].count_down();
    done_[2].wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const std::int64_t calls = counts_.calls - calls_before;
    const SoakMemory after = SoakMemory::now(gpus_);
    may_go_on_[2].count_down();
    for (std::thread& thread : threads_) thread.join();
    return report(before, after, calls, seconds);
  }

 private:
  static constexpr std::int64_t kSettlingPart = 20;

  void run_thread(std::int64_t t) {
    const auto index = static_cast<std::size_t>(t);
    const SoakGpu& gpu = *gpus_[index % gpus_.size()];
    const std::size_t neighbours =
        (static_cast<std::size_t>(options_.threads) - index % gpus_.size() + gpus_.size() - 1) / gpus_.size();
    std::unique_ptr<PrimaryContext> current;
    std::unique_ptr<SoakThread> thread;
    const auto phase = [&](std::size_t number, auto&& step) {
      try {
        step();
      } catch (const std::exception& error) {
        ++counts_.failed;
        std::fprintf(stderr, "failed: thread %d: %s\n", static_cast<int>(t), error.what());
      }
      done_[number].count_down();
      may_go_on_[number].wait();
    };
    phase(0, [&] {
      current = std::make_unique<PrimaryContext>(driver_, gpu.ordinal());
      thread = std::make_unique<SoakThread>(driver_, *context_, gpu, shapes_, counts_,
                                            static_cast<std::uint64_t>(options_.seed * 1000 + t));
      thread->warm_up(index / gpus_.size(), neighbours);
    });
    for (const std::size_t number : {1u, 2u}) {
      phase(number, [&] {
        if (thread) thread->run(end_);
      });
    }
  }

  /// The bound in milliseconds, a power of two of microseconds, that all calls but one of `rest` keep.
  double bound_ms(std::uint64_t rest) const {
    const WaitTimes times = counts_.times.read();
    std::uint64_t above = times.count;
    for (std::size_t i = 0; i < times.buckets.size(); ++i) {
      above -= times.buckets[i];
      if (above * rest <= times.count) return std::exp2(static_cast<double>(i)) * 1e-3;
    }
    return std::numeric_limits<double>::infinity();
  }

  /// Prints the counts, with the calls that the threads made in `seconds` behind the warm-up. Returns the exit status.
  int report(const SoakMemory& before, const SoakMemory& after, std::int64_t calls, double seconds) const {
    const Stats stats = context_->stats();
    const double later_ms = static_cast<double>(counts_.later_ns) * 1e-6, process = after.process - before.process,
                 device = after.gpus - before.gpus;
    std::printf("calls            %lld in %.1f s behind the warm-up, %lld graphs, on %zu GPUs\n",
                static_cast<long long>(calls), seconds, static_cast<long long>(counts_.graphs), gpus_.size());
    std::printf("wrong, failed    %lld, %lld\n", static_cast<long long>(counts_.wrong),
                static_cast<long long>(counts_.failed));
    std::printf("plans            %llu, tuned %llu, compiled %llu, pushed out %llu\n",
                static_cast<unsigned long long>(stats.plans), static_cast<unsigned long long>(stats.tuned),
                static_cast<unsigned long long>(stats.compiled), static_cast<unsigned long long>(stats.evictions));
    std::printf("longest call     %.3f ms; of a new class %.1f ms\n", later_ms,
                static_cast<double>(counts_.first_ns) * 1e-6);
    std::printf("all but one in   100 calls within %.3f ms, 10'000 within %.3f ms, 1'000'000 within %.3f ms\n",
                bound_ms(100), bound_ms(10'000), bound_ms(1'000'000));
    std::printf("process memory   %.1f MiB behind the warm-up, %+.1f at the end\n", before.process, process);
    std::printf("memory of GPUs   %.1f MiB behind the warm-up, %+.1f at the end\n", before.gpus, device);
    const bool waited = later_ms > options_.max_wait_ms, grew = std::max(process, device) > options_.max_growth_mib;
    if (waited) std::printf("FAILED: a call took longer than %.1f ms\n", options_.max_wait_ms);
    if (grew) std::printf("FAILED: memory grew by more than %.1f MiB\n", options_.max_growth_mib);
    if (counts_.wrong > 0) std::printf("FAILED: there are wrong results\n");
    if (counts_.failed > 0) std::printf("FAILED: calls have failed\n");
    return waited || grew || counts_.wrong > 0 || counts_.failed > 0 ? 1 : 0;
  }

  const SoakOptions options_;
  const Driver& driver_ = Driver::get();
  const std::vector<SoakShape> shapes_;
  const Clock::time_point end_;
  std::unique_ptr<Context> context_;
  std::vector<std::unique_ptr<SoakGpu>> gpus_;
  SoakCounts counts_;
  std::latch done_[3];
  std::latch may_go_on_[3]{std::latch(1), std::latch(1), std::latch(1)};
  std::vector<std::thread> threads_;
};

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  try {
    return hotgemm::Soak(hotgemm::parse_soak({argv + 1, argv + argc})).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak_program: %s\n", error.what());
    return 2;
  }
}
