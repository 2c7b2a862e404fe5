#include "context_impl.hpp"
#include "standin/runtime_fixture.hpp"

#include <sys/wait.h>

#include <fstream>
#include <functional>
#include <sstream>

namespace hotgemm::standin {
namespace {

constexpr int kFirstCalls = 120;  // calls up to the filling of operands; the test makes each of them fail once

/// The distance between calls that fail after kFirstCalls. The later calls, of fills and races, repeat themselves. If
/// HOTGEMM_TEST_EVERY_CALL is set, every call fails once.
int stride() {
  if (std::getenv("HOTGEMM_TEST_EVERY_CALL") != nullptr) return 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 37;
#else
  return 17;
#endif
}

// ---- a failure of every driver call of a first gemm ----

struct Injected {
  const char* name;
  CUresult result;
  bool sticky;
  std::vector<ErrorCode> codes;  // codes that gemm may throw
};

class FailureTest : public RuntimeTest {
 protected:
  /// Makes the `nth` driver call of a first gemm fail. Returns false if gemm makes fewer calls.
  bool first_gemm_with(const Injected& injected, int nth) {
    const GemmCase c = small_case(1, 8, 8, 1);
    CaseRun run(driver_, c, stream());
    run.fill(CaseRun::Data::integers, 1);
    const auto before = live_handles();
    bool was_reached = false, has_thrown = false;
    std::optional<Context> fresh(std::in_place, options(Policy::tune, 1));
    const auto gemm = [&](const Operands& operands) { fresh->gemm(stream(), c.problem, operands); };
    run.run([&](const Operands& operands) {
      const std::size_t calls = standin().calls("*");
      standin().fail("*", nth, injected.result, injected.sticky);
      try {
        gemm(operands);
      } catch (const Error& error) {
        has_thrown = true;
        EXPECT_THAT(injected.codes, testing::Contains(error.code())) << error.what();
        EXPECT_THAT(error.what(), testing::HasSubstr("CUDA_ERROR_"));
      }
      was_reached = standin().calls("*") - calls >= static_cast<std::size_t>(nth);
      EXPECT_THAT(standin().violations(), testing::IsEmpty());
      if (injected.sticky && was_reached) {
        EXPECT_TRUE(has_thrown);
        fresh.reset();
      }
      standin().reset();
      make_all_slow();
    });
    if (injected.sticky && was_reached) return true;
    if (!has_thrown) {
      EXPECT_EQ(run.inexact(), "");
    }
    run.run(gemm);
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
    const std::vector<Found> found = impl_of(*fresh).engine().database.all();
    EXPECT_EQ(found.size(), fresh->stats().tuned);
    for (const Found& f : found) EXPECT_GT(f.record.timing.samples, 0);
    fresh.reset();
    EXPECT_EQ(live_handles(), before);
    return was_reached;
  }

  void sweep(const Injected& injected) {
    ::setenv("HOTGEMM_CACHE", "rw", 1);
    ASSERT_FALSE(first_gemm_with(injected, 1 << 30));
    KernelShelf::add(cache_.path());
    ::setenv("HOTGEMM_CACHE", "ro", 1);  // keeps records in memory and takes kernels from the shelf
    cache_directory_is_unused();
    int nth = 1;
    while (first_gemm_with(injected, nth) && !HasFailure()) nth += nth < kFirstCalls ? 1 : stride();
    EXPECT_GT(nth, 200);
    EXPECT_FALSE(HasFailure()) << injected.name << " at call " << nth;
    warnings_.take();
  }
  /// Removes the records, so that the record of the first run does not answer the next runs.
  void cache_directory_is_unused() { std::filesystem::remove_all(cache_.path() / "v1" / "db"); }
};

TEST_F(FailureTest, EveryCallInvalidValue) {
  sweep({"invalid value", CUDA_ERROR_INVALID_VALUE, false, {ErrorCode::driver_error}});
}
TEST_F(FailureTest, EveryCallOutOfMemory) {
  sweep({"out of memory", CUDA_ERROR_OUT_OF_MEMORY, false, {ErrorCode::out_of_memory}});
}
TEST_F(FailureTest, EveryCallIllegalAddress) {
  sweep({"illegal address", CUDA_ERROR_ILLEGAL_ADDRESS, true, {ErrorCode::context_lost}});
}

TEST_F(FailureTest, ALostContextStaysLostAndNothingIsRecorded) {
  CaseRun run(driver_, small_case(), stream());
  const auto gemm = [&] { context().gemm(stream(), small_case().problem, run.operands()); };
  standin().fail("cuEventElapsedTime", 1, CUDA_ERROR_LAUNCH_FAILED, true);
  for (int i = 0; i < 2; ++i) expect_thrown(ErrorCode::context_lost, {"CUDA_ERROR_LAUNCH_FAILED (719)"}, gemm);
  expect_thrown(ErrorCode::context_lost, {},
                [&] { context().tune(std::vector{small_case().described()}, quick_tuning(1)); });
  EXPECT_THAT(records(), testing::IsEmpty());
  EXPECT_THAT(warnings_.take(), testing::IsEmpty()) << "it was not estimated instead";
  standin().reset();
}

TEST_F(FailureTest, AWrongKernelOfTheCallerIsNotOurs) {
  // An error is pending when gemm is called: nothing is tuned, and gemm throws the error.
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  standin().fail("cuCtxGetId", 1, CUDA_ERROR_ILLEGAL_ADDRESS, true);
  expect_thrown(ErrorCode::context_lost, {"CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
                [&] { context().gemm(stream(), c.problem, run.operands()); });
  EXPECT_EQ(standin().launches(), 0u);
  standin().reset();
  make_all_slow();
  expect_right(context(), c, stream());
}

// ---- without a CUDA context ----

TEST_F(FailureTest, WithoutACurrentContext) {
  CaseRun run(driver_, small_case(), stream());
  driver_.cuCtxSetCurrent(nullptr);
  const auto gemm = [&] { context().gemm(nullptr, small_case().problem, run.operands()); };
  expect_thrown(ErrorCode::no_device, {"current CUDA context", "CUDA_ERROR_INVALID_CONTEXT"}, gemm);
  expect_thrown(ErrorCode::no_device, {}, [&] { context().plan(small_case().described()); });
  expect_thrown(ErrorCode::no_device, {}, [&] { context().tune({}, quick_tuning(1)); });
  driver_.cuCtxSetCurrent(cuda_context_);
  gemm();
}

TEST_F(FailureTest, AChildOfAForkIsTold) {
  const GemmCase c = small_case();
  expect_right(context(Policy::estimate), c, stream());
  const Plan plan = context().plan(c.described());
  CaseRun run(driver_, c, stream());
  const std::function<void()> uses[] = {
      [&] { context().gemm(stream(), c.problem, run.operands()); },
      [&] { plan.launch(stream(), run.operands()); },
      [&] { context().plan(small_case(8, 16, 24).described()); },
      [&] { context().tune(std::vector{c.described()}, quick_tuning(1)); },
  };
  const pid_t child = ::fork();
  if (child == 0) {
    int bad = 0;
    for (const auto& use : uses) {
      try {
        use();
        ++bad;
      } catch (const Error& error) {
        bad += error.code() != ErrorCode::forked || std::string(error.what()).find("fork") == std::string::npos;
      }
    }
    ::_exit(bad);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_right(context(), c, stream());
}

// ---- templates ----

TEST_F(FailureTest, AMissingTemplateDirectoryIsNamed) {
  ContextOptions missing = options(Policy::estimate);
  missing.template_directory = "/nowhere/templates";
  expect_thrown(ErrorCode::io_error, {"/nowhere/templates"}, [&] { Context context(missing); });
  ::setenv("HOTGEMM_TEMPLATE_DIR", "/nowhere/else", 1);
  expect_thrown(ErrorCode::io_error, {"/nowhere/else"}, [&] { Context context(options(Policy::estimate)); });
}

TEST_F(FailureTest, AnErrorInATemplateNamesFileAndLine) {
  const ScratchDirectory copy;
  std::filesystem::copy(HOTGEMM_SOURCE_DIR "/templates", copy.path(), std::filesystem::copy_options::recursive);
  for (const char* family : {"wgmma.cuh", "mma.cuh", "simt.cuh"}) {
    std::stringstream text;
    text << std::ifstream(copy.path() / family).rdbuf();
    std::ofstream(copy.path() / family) << "#error planted\n" << text.str();
  }
  ContextOptions edited = options(Policy::tune);
  edited.template_directory = copy.path().string();
  context_.emplace(edited);
  CaseRun run(driver_, small_case(), stream());
  expect_thrown(ErrorCode::compile_failed, {copy.path().string(), ".cuh(1)", "planted"},
                [&] { context().gemm(stream(), small_case().problem, run.operands()); });
  const TuneResult result = context().tune(std::vector{small_case().described()}, quick_tuning(2)).at(0);
  EXPECT_THAT(result.failure, testing::AllOf(testing::HasSubstr("build"), testing::HasSubstr("planted")));
  const PrewarmReport report =
      context().prewarm(std::vector{small_case().described()}, PrewarmOptions{.archs = {"sm_90a"}, .jobs = 1});
  EXPECT_EQ(report.failed, 1u);
  EXPECT_THAT(report.entries.at(0).failure, testing::HasSubstr("planted"));
  EXPECT_THAT(records(), testing::IsEmpty());
}

// ---- missing libraries, in separate processes ----

/// The code of the error that `call` throws, as an exit status; 99 if it throws none. The message must contain `part`.
int code_of(const std::string& part, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const bool says_so = std::string(error.what()).find(part) != std::string::npos;
    return says_so ? static_cast<int>(error.code()) : 98;
  }
  return 99;
}

/// The first call of a Context, on the stand-in.
void gemm_on_standin(Policy policy, bool has_shelf) {
  const Driver& driver = Driver::get();
  CUcontext current = nullptr;
  driver.check(driver.cuDevicePrimaryCtxRetain(&current, 0), "retain");
  driver.check(driver.cuCtxSetCurrent(current), "make current");
  if (!has_shelf) ::unsetenv("HOTGEMM_CACHE_PATH");
  const ScratchDirectory cache;
  Context context(options_in(cache.path(), policy));
  expect_right(context, small_case(), OwnedStream(driver).get());
}

class MissingDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    set_test_environment();
  }
  static testing::ExitedWithCode exits(ErrorCode code) { return testing::ExitedWithCode(static_cast<int>(code)); }
};

int code_without_libcuda() {
  standin();
  ::setenv("HOTGEMM_LIBCUDA", "/nowhere/libcuda.so", 1);
  const ScratchDirectory cache;
  Context context(options_in(cache.path(), Policy::tune));
  const Operands operands = {.a = &context, .b = &context, .d = &context, .lda = 8, .ldb = 8, .ldd = 8};
  return code_of("/nowhere/libcuda.so", [&] { context.gemm(nullptr, {.m = 8, .n = 8, .k = 8}, operands); });
}

TEST_F(MissingDeathTest, Libcuda) { EXPECT_EXIT(::_exit(code_without_libcuda()), exits(ErrorCode::no_driver), ""); }

int code_without_gpu() {
  standin();
  ::setenv("HOTGEMM_STANDIN_INIT", "100", 1);
  const ScratchDirectory cache;
  Context context(options_in(cache.path(), Policy::tune));
  return code_of("CUDA_ERROR_NO_DEVICE", [&] { context.plan(Workload({.m = 8, .n = 8, .k = 8})); });
}

TEST_F(MissingDeathTest, Gpu) { EXPECT_EXIT(::_exit(code_without_gpu()), exits(ErrorCode::no_device), ""); }

int code_without_nvrtc(Policy policy, bool has_shelf) {
  standin();
  make_all_slow();
  ::setenv("HOTGEMM_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
  const int code = code_of("/nowhere/libnvrtc.so", [&] { gemm_on_standin(policy, has_shelf); });
  return testing::Test::HasFailure() ? 97 : code;
}

TEST_F(MissingDeathTest, Libnvrtc) {
  for (const Policy policy : {Policy::estimate, Policy::tune}) {
    EXPECT_EXIT(::_exit(code_without_nvrtc(policy, false)), exits(ErrorCode::no_compiler), "");
  }
}

TEST_F(MissingDeathTest, LibnvrtcIsNotNeededAfterPrewarming) {
  {
    const ScratchDirectory cache;
    Context context(options_in(cache.path(), Policy::cached_only));
    const PrewarmOptions options{.archs = {"sm_90a"}, .jobs = 1};
    EXPECT_EQ(context.prewarm(std::vector{small_case().described()}, options).failed, 0u);
    KernelShelf::add(cache.path());
  }
  EXPECT_EXIT(::_exit(code_without_nvrtc(Policy::cached_only, true)), testing::ExitedWithCode(99), "");
}

}  // namespace
}  // namespace hotgemm::standin
