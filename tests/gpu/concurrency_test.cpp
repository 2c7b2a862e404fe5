// Many threads, streams and Contexts; fork.

#include "gpu/gpu_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace hotgemm {
namespace {

constexpr int kThreads = 8;
constexpr int kStreams = 4;  // per thread
constexpr int kCalls = 10;   // per thread, stream and shape

/// A, B and C of one shape, which all calls share, and the D of a call that ran alone.
struct SharedOperands {
  GemmCase call;
  std::unique_ptr<CaseRun> run;
  Bytes alone;
};

std::vector<GemmCase> shapes() {
  std::vector<GemmCase> cases;
  const std::int64_t sizes[][3] = {{1, 256, 512},  {17, 90, 65},    {64, 64, 64},
                                   {130, 200, 96}, {256, 256, 256}, {300, 8, 1000}};
  for (const auto& [m, n, k] : sizes) {
    GemmCase c;
    const bool odd = cases.size() % 2 == 1;
    c.problem = {.m = m,
                 .n = n,
                 .k = k,
                 .op_a = odd ? Op::t : Op::n,
                 .op_b = odd ? Op::n : Op::t,
                 .types = cases.size() % 3 == 2 ? kBf16 : kF16};
    c.beta = odd ? 0.5f : 0.0f;
    c.set_tight_ld(odd ? 1 : 8);
    cases.push_back(c);
  }
  return cases;
}

class Concurrency : public GpuTest {
 protected:
  /// Makes the operands, and computes the results of calls that run alone in the fixture's Context.
  std::vector<SharedOperands> make_operands() {
    std::vector<SharedOperands> all;
    for (const GemmCase& c : shapes()) {
      all.push_back({c, std::make_unique<CaseRun>(driver(), c, stream()), {}});
      all.back().run->fill(CaseRun::Data::normal, static_cast<unsigned>(all.size()));
      all.back().run->run(caller(gpu().context(), c.problem));
      all.back().alone = all.back().run->found();
    }
    driver().check(driver().cuCtxSynchronize(), "wait for the GPU");
    return all;
  }

  /// Calls gemm for every shape on `streams` streams in turn; each stream has its own Ds. Returns the number of wrong
  /// results.
  static int call_all(Context& context, const std::vector<SharedOperands>& all, std::size_t streams) {
    std::vector<OwnedStream> queues;
    std::vector<GuardedMatrix> results;
    for (std::size_t s = 0; s < streams; ++s) {
      queues.emplace_back(driver());
      for (const SharedOperands& shared : all) {
        const GemmCase& c = shared.call;
        results.emplace_back(driver(), c.problem.types.d, c.problem.m, c.problem.n, c.ldd, 0,
                             GuardedMatrix::Filling::noise);
        results.back().upload(queues.back().get());
      }
    }
    for (int call = 0; call < kCalls; ++call) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        const SharedOperands& shared = all[i % all.size()];
        Operands operands = shared.run->operands();
        operands.d = results[i].device();
        context.gemm(queues[i / all.size()].get(), shared.call.problem, operands);
      }
    }
    int wrong = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const SharedOperands& shared = all[i % all.size()];
      const Bytes found = results[i].download(queues[i / all.size()].get());
      bool good = results[i].change_around(found).empty();
      for (std::int64_t row = 0; row < shared.call.problem.m; ++row) {
        for (std::int64_t col = 0; col < shared.call.problem.n; ++col) {
          const auto r = static_cast<std::size_t>(row), j = static_cast<std::size_t>(col);
          good = good && results[i].get(found, r, j) == results[i].get(shared.alone, r, j);
        }
      }
      wrong += good ? 0 : 1;
    }
    return wrong;
  }

  /// Runs call_all in several threads at once; thread i uses contexts[i % size].
  static void call_from_threads(const std::vector<Context*>& contexts, const std::vector<SharedOperands>& all) {
    CUcontext current = nullptr;
    driver().check(driver().cuCtxGetCurrent(&current), "read the current context");
    std::atomic<int> wrong{0};
    std::mutex mutex;
    std::string failure;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        try {
          driver().check(driver().cuCtxSetCurrent(current), "make the context current");
          wrong += call_all(*contexts[i % contexts.size()], all, kStreams);
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex);
          failure = error.what();
        }
      });
    }
    threads.clear();  // joins
    EXPECT_EQ(failure, "");
    EXPECT_EQ(wrong.load(), 0);
  }
};

TEST_F(Concurrency, ThreadsAndStreamsGiveTheBitsOfOneCallAlone) {
  const std::vector<SharedOperands> all = make_operands();
  Context context(options_for(Policy::estimate, Gpu::cache_directory()));  // cold: the threads plan at once
  call_from_threads({&context}, all);
  EXPECT_EQ(context.stats().plans, all.size());
  EXPECT_EQ(context.stats().compiled, 0u);
}

TEST_F(Concurrency, TwoContextsDoNotDisturbEachOther) {
  const std::vector<SharedOperands> all = make_operands();
  auto second = std::make_unique<Context>(options_for(Policy::estimate, Gpu::cache_directory()));
  call_from_threads({&gpu().context(), second.get()}, all);
  EXPECT_EQ(second->stats().plans, all.size());
  second.reset();  // unloads its kernels
  EXPECT_EQ(call_all(gpu().context(), all, 1), 0);
}

/// If several threads ask for one new class at the same time, it is measured once.
TEST_F(Concurrency, AClassIsTunedOnce) {
  const TemporaryDirectory cache;
  Context context(tuning_options(cache.string()));
  const std::vector<SharedOperands> all = make_operands();
  CUcontext current = nullptr;
  driver().check(driver().cuCtxGetCurrent(&current), "read the current context");
  std::atomic<int> failed{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      try {
        driver().check(driver().cuCtxSetCurrent(current), "make the context current");
        context.plan(all[4].call.described());
      } catch (const std::exception&) {
        ++failed;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_EQ(context.stats().tuned, 1u);
  EXPECT_EQ(context.stats().plans, 1u);
}

TEST_F(Concurrency, AForkedChildGetsAnError) {
  GemmCase c = shapes()[2];
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 1);
  run.run(caller(gpu().context(), c.problem));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int status = 1;
    try {
      gpu().context().gemm(stream(), c.problem, run.operands());
    } catch (const Error& error) {
      status = error.code() == ErrorCode::forked ? 0 : 2;
    } catch (...) {
      status = 3;
    }
    ::_exit(status);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  run.run(caller(gpu().context(), c.problem));  // the parent continues to work
  EXPECT_EQ(run.inexact(), "");
}

}  // namespace
}  // namespace hotgemm
