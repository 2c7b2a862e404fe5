// Calls beside a kernel that runs until the host stops it, as NCCL's and persistent kernels do. A driver call that
// waits for it would hang a program whose host thread first makes the call and then stops the kernel. The first test
// prints which driver calls wait: those that load or unload a kernel or free memory are among them. The others demand
// that the library makes no such call after Context::plan.

#include "gpu/driver_calls.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/spinner.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/prepacked.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace hotgemm {
namespace {

class DriverWaits : public GpuTest, public testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (small_run()) GTEST_SKIP() << "a checker lets no kernels run beside each other";
    other_.emplace(driver());
    if (other_->host_alloc == nullptr) GTEST_SKIP() << "this driver has no mapped memory";
    bench_.emplace(driver(), *other_, compiled(Spinner::kSymbol, Spinner::kText), GetParam());
  }

  Cubin compiled(const char* symbol, const char* text) const {
    return compile_for_test(symbol, text, gpu().arch(), impl_of(gpu().context()).engine().bundle);
  }

  /// A kernel of family `simt`, which every GPU runs.
  Cubin compiled_gemm(GlobalVariables variables) const {
    const TemplateBundle& bundle = impl_of(gpu().context()).engine().bundle;
    KernelSource source = render(*parse_config("simt_m64_n64_k16_tm4_tn4"),
                                 traits_of(parse_workload("64 64 64 nt f32")), gpu().arch(), bundle);
    source.variables = variables;
    return Nvrtc::get().compile(source, bundle);
  }

  std::optional<OtherDriverCalls> other_;
  std::optional<SpinnerBench> bench_;
};

// ---- which driver calls wait ----

/// Launches of a loaded kernel on a stream of their own, and the longest time that one of them took the host.
class Launches {
 public:
  explicit Launches(const DriverObjects& o) : o_(o), kernel_(o.driver, o.small, 0), stream_(o.driver) {
    launch();
    stream_.synchronize();
    count_ = 0;
    longest_us_ = 0;
  }

  void launch() {
    CUdeviceptr none = 0;
    void* parameters[] = {&none};
    const auto start = std::chrono::steady_clock::now();
    o_.check(o_.driver.cuLaunchKernel(kernel_.function(), 1, 1, 1, 32, 1, 1, 0, stream_.get(), parameters, nullptr));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    longest_us_ = std::max(longest_us_, took.count());
    ++count_;
  }
  int count() const { return count_; }
  double longest_us() const { return longest_us_; }

 private:
  const DriverObjects& o_;
  LoadedKernel kernel_;
  OwnedStream stream_;
  int count_ = 0;
  double longest_us_ = 0;
};

double time_alone(const TimedCall& call) {
  call.prepare();
  const auto start = std::chrono::steady_clock::now();
  call.act();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  call.clean();
  return took.count();
}

TEST_P(DriverWaits, SomeCallsOfTheDriverDo) {
  DriverObjects o{.driver = driver(),
                  .other = *other_,
                  .small = compiled("small", kSmallText),
                  .deep = compiled("deep", kDeepText),
                  .all = compiled_gemm(GlobalVariables::all),
                  .slim = compiled_gemm(GlobalVariables::read),
                  .stream = OwnedStream(driver()),
                  .target = DeviceBuffer(driver(), 4096)};
  CUmoduleLoadingMode mode{};
  if (other_->loading_mode != nullptr) o.check(other_->loading_mode(&mode));
  std::printf("module loading is %s\n", mode == CU_MODULE_LAZY_LOADING ? "lazy" : "eager");
  const auto run = [&](const TimedCall& call, const std::function<void()>& beside) {
    call.prepare();
    const StageTime time = bench_->run({call.act}, beside).front();
    call.clean();
    return time;
  };
  int waiting = 0;
  for (const TimedCall& call : driver_calls(o)) {
    double alone_us = 0;
    for (int i = 0; i < 2; ++i) alone_us = time_alone(call);  // the first one may include what comes once in a process
    const StageTime beside = run(call, {});
    std::printf("%-40s alone %9.1f us, beside %9.1f us%s\n", call.name, alone_us, beside.us,
                beside.ended_beside ? "" : "  WAITS");
    if (beside.ended_beside) continue;
    ++waiting;
    Launches launches(o);
    run(call, [&] { launches.launch(); });
    std::printf("%-40s meanwhile %d launches on another stream, the longest %.1f us\n", "", launches.count(),
                launches.longest_us());
  }
  EXPECT_GE(waiting, 1) << "cuCtxSynchronize waits, so the spinner did not run";
}

// ---- what the library does ----

class LibraryWaits : public DriverWaits {
 protected:
  /// A Context that has the kernels of `cases` in its cache, but has loaded none of them.
  std::unique_ptr<Context> cold_context(const std::vector<GemmCase>& cases, std::int64_t max_plans = 10'000) const {
    ContextOptions options = options_for(Policy::estimate, cache_.string());
    {
      Context warm(options);
      for (const GemmCase& c : cases) warm.plan(c.described());
    }
    options.max_plans = max_plans;
    return std::make_unique<Context>(options);
  }

  /// The first of `cases` whose plan is like that.
  template <class IsLikeThat>
  static std::optional<GemmCase> first_case(const std::vector<GemmCase>& cases, IsLikeThat&& is_like_that) {
    for (const GemmCase& c : cases) {
      const Plan plan = gpu().context().plan(c.described());
      if (!is_like_that(PlanAccess::impl(plan))) continue;
      std::printf("%s: %s\n", c.text().c_str(), plan.explain().c_str());
      return c;
    }
    return std::nullopt;
  }
  static GemmCase plain_case(std::int64_t m) {
    GemmCase c;
    c.problem = {.m = m, .n = 256, .k = 320, .op_b = Op::t, .types = kBf16};
    c.set_tight_ld(8);
    return c;
  }
  /// Cases whose kernels may divide k, which takes workspace.
  static std::vector<GemmCase> deep_cases() {
    std::vector<GemmCase> cases;
    for (const auto& [m, n, k] : {std::tuple(64, 256, 8192), std::tuple(16, 256, 16384), std::tuple(128, 128, 8192)}) {
      GemmCase c;
      c.problem = {.m = m, .n = n, .k = k, .op_b = Op::t, .types = kBf16};
      c.set_tight_ld(8);
      cases.push_back(c);
    }
    return cases;
  }
  /// Cases whose kernels may copy operands first.
  static std::vector<GemmCase> ragged_cases() {
    std::vector<GemmCase> cases;
    for (const auto& [m, n, k] : {std::tuple(512, 512, 511), std::tuple(1024, 1024, 255), std::tuple(255, 509, 511)}) {
      GemmCase c;
      c.problem = {.m = m, .n = n, .k = k, .op_b = Op::t, .types = kBf16};
      c.set_tight_ld(1);
      cases.push_back(c);
    }
    return cases;
  }

  struct Stage {
    const char* name;
    std::function<void()> act;
  };
  /// Runs the stages beside a spinner; each must end before it.
  void expect_no_wait(const std::vector<Stage>& stages) const {
    driver().check(driver().cuCtxSynchronize(), "wait for the data");
    SpinnerBench::Stages acts;
    for (const Stage& stage : stages) acts.push_back(stage.act);
    const std::vector<StageTime> times = bench_->run(acts);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      std::printf("%-40s %9.1f us\n", stages[i].name, times[i].us);
      if (times[i].ended_beside) continue;
      ADD_FAILURE() << stages[i].name << " did not end before the spinner was stopped";
      return;
    }
  }
  /// After Context::plan, the first call of a class returns beside a spinner, its work ends, and the result is right.
  void expect_a_planned_call_is_harmless(Context& context, const GemmCase& c) const {
    context.plan(c.described());
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 3);
    run.run([&](const Operands& operands) {
      expect_no_wait({{"the first gemm", [&] { context.gemm(stream(), c.problem, operands); }},
                      {"its end on the GPU", [&] { driver().cuStreamSynchronize(stream()); }},
                      {"the same again", [&] { context.gemm(stream(), c.problem, operands); }}});
    });
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
  }

  TemporaryDirectory cache_;
};

TEST_P(LibraryWaits, NotInTheFirstCallOfAPlannedClass) {
  const GemmCase c = plain_case(192);
  expect_a_planned_call_is_harmless(*cold_context({c}), c);
}

TEST_P(LibraryWaits, NotInAPlannedCallThatNeedsWorkspace) {
  const auto c = first_case(deep_cases(), [](const PlanImpl& plan) { return !plan.workspace_size().is_empty(); });
  if (!c) GTEST_SKIP() << "no kernel divides k here";
  expect_a_planned_call_is_harmless(*cold_context({*c}), *c);
}

TEST_P(LibraryWaits, NotInAPlannedCallThatCopiesAnOperand) {
  const auto c = first_case(ragged_cases(), [](const PlanImpl& plan) { return repacks(plan.choice().launch); });
  if (!c) GTEST_SKIP() << "no kernel copies an operand here";
  expect_a_planned_call_is_harmless(*cold_context({*c}), *c);
}

TEST_P(LibraryWaits, NotInTheFirstLaunchOfAPlanOnAStream) {
  std::vector<GemmCase> cases = deep_cases();
  cases.push_back(plain_case(192));
  const GemmCase c =
      first_case(cases, [](const PlanImpl& plan) { return !plan.workspace_size().is_empty(); }).value_or(cases.back());
  const std::unique_ptr<Context> context = cold_context({c});
  const Plan plan = context->plan(c.described());
  const OwnedStream fresh(driver());
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 4);
  run.run([&](const Operands& operands) {
    expect_no_wait({{"Plan::launch on a fresh stream", [&] { plan.launch(fresh.get(), operands); }},
                    {"its end on the GPU", [&] { fresh.synchronize(); }},
                    {"Context::plan again", [&] { context->plan(c.described()); }}});
  });
  EXPECT_EQ(run.inexact(), "");
}

TEST_P(LibraryWaits, NotWhenPlansArePushedOutAndDropped) {
  const GemmCase one = plain_case(192), two = plain_case(320);
  const std::unique_ptr<Context> context = cold_context({one, two}, 1);
  CaseRun run_one(driver(), one, stream()), run_two(driver(), two, stream());
  run_one.fill(CaseRun::Data::integers, 5);
  run_two.fill(CaseRun::Data::integers, 6);
  context->plan(two.described());  // the rule holds for planned classes
  std::optional<Plan> plan(context->plan(one.described()));
  run_one.run([&](const Operands& of_one) {
    context->gemm(stream(), one.problem, of_one);
    run_two.run([&](const Operands& of_two) {
      expect_no_wait({{"a call that pushes a plan out", [&] { context->gemm(stream(), two.problem, of_two); }},
                      {"dropping that plan", [&] { plan.reset(); }},
                      {"a call that plans it again", [&] { context->gemm(stream(), one.problem, of_one); }},
                      {"the end on the GPU", [&] { driver().cuStreamSynchronize(stream()); }}});
    });
  });
  EXPECT_GE(context->stats().evictions, 1u);
  EXPECT_EQ(run_one.inexact(), "");
  EXPECT_EQ(run_two.inexact(), "");
}

TEST_P(LibraryWaits, NotInPacking) {
  GemmCase c = ragged_cases().front();
  Problem packed = c.problem;
  packed.prepacked_b = true;
  const PrepackedSize size = prepacked_size(packed, Operand::b);
  const DeviceBuffer memory(driver(), size.bytes);
  void* const to = reinterpret_cast<void*>(memory.get());
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 7);
  {
    Context warm(options_for(Policy::estimate, cache_.string()));
    warm.plan(Workload(packed));
    warm.pack(stream(), packed, Operand::b, run.operands().b, c.ldb, to);
    driver().check(driver().cuCtxSynchronize(), "pack once");
  }
  Context context(options_for(Policy::estimate, cache_.string()));
  context.plan(Workload(packed));
  run.run([&](Operands operands) {
    Operands of_packed = operands;
    of_packed.b = to;
    of_packed.ldb = size.ld;
    expect_no_wait({{"Context::pack", [&] { context.pack(stream(), packed, Operand::b, operands.b, c.ldb, to); }},
                    {"a gemm of the copy", [&] { context.gemm(stream(), packed, of_packed); }},
                    {"the end on the GPU", [&] { driver().cuStreamSynchronize(stream()); }}});
  });
  EXPECT_EQ(run.inexact(), "");
}

/// The flags of the stream that the spinner runs on: a blocking one also holds up the legacy default stream.
constexpr unsigned kFlags[] = {CU_STREAM_NON_BLOCKING, CU_STREAM_DEFAULT};
std::string flag_name(const testing::TestParamInfo<unsigned>& info) {
  return info.param == CU_STREAM_NON_BLOCKING ? "NonBlocking" : "Blocking";
}
INSTANTIATE_TEST_SUITE_P(Streams, DriverWaits, testing::ValuesIn(kFlags), flag_name);
INSTANTIATE_TEST_SUITE_P(Streams, LibraryWaits, testing::ValuesIn(kFlags), flag_name);

}  // namespace
}  // namespace hotgemm
