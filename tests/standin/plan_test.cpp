#include "context_impl.hpp"
#include "standin/allocation_count.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "plan/candidates.hpp"
#include "runtime/shipped_records.hpp"

#include <cmath>
#include <fstream>

namespace hotgemm::standin {
namespace {

using PlanTest = RuntimeTest;

template <class Call>
std::size_t allocations_of(Call&& call) {
  const std::size_t before = allocation_count();
  call();
  return allocation_count() - before;
}

TEST_F(PlanTest, SaysWhatItIs) {
  const Plan plan = context(Policy::estimate).plan(small_case().described());
  EXPECT_EQ(plan.problem(), small_case().described());
  EXPECT_EQ(plan.origin(), Origin::estimated);
  EXPECT_EQ(plan.distance(), 0);
  EXPECT_GT(plan.resources().registers, 0);
  EXPECT_EQ(plan.resources().spill_bytes, 0);
  EXPECT_GT(plan.resources().threads, 0);
  EXPECT_EQ(plan.workspace_bytes(), 0u);
  for (const std::string& part : {to_string(plan.problem()), plan.config(), std::string("estimated")}) {
    EXPECT_THAT(plan.explain(), testing::HasSubstr(part));
  }
}

TEST_F(PlanTest, WarmLaunchesAreOneDriverCall) {
  const GemmCase c = small_case();
  const Plan plan = context(Policy::estimate).plan(c.described());
  expect_right(c, stream(), [&](const Operands& operands) {
    plan.launch(stream(), operands);  // the first launch encodes tensor maps, if the kernel uses any
    const std::size_t all = standin().calls("*");
    plan.launch(stream(), operands);
    EXPECT_EQ(standin().calls("*") - all, 1u);
  });
}

TEST_F(PlanTest, WarmCallsDoNotAllocate) {
  const GemmCase c = small_case();
  const Workload problem = c.described();
  const Plan plan = context(Policy::estimate).plan(problem);
  DeviceState& state = impl_of(context()).current();
  const Choice choice = state.plans().find(class_key(problem))->entry.plan->choice();
  Engine& engine = state.engine();
  const auto cubin = engine.builder.find(render(choice.config, traits_of(problem), "sm_90a", engine.bundle));
  const auto kernel = state.load(choice.config, traits_of(problem), *cubin);
  expect_right(c, stream(), [&](const Operands& operands) {
    // The stand-in allocates where the driver would not. So the same driver calls, made here, give the expected count.
    const auto launch = [&] { launch_gemm(driver_, *kernel, choice.launch, 8, 16, 8, operands, stream()); };
    const auto ask_and_launch = [&] {
      unsigned long long id = 0;
      driver_.cuCtxGetId(nullptr, &id);
      launch();
    };
    const auto gemm = [&] { context().gemm(stream(), c.problem, operands); };
    gemm();
    launch();
    EXPECT_EQ(allocations_of([&] { plan.launch(stream(), operands); }), allocations_of(launch));
    EXPECT_EQ(allocations_of(gemm), allocations_of(ask_and_launch));
  });
}

TEST_F(PlanTest, RefusesOperandsThatItWasNotMadeFor) {
  const Plan plan = context(Policy::estimate).plan(small_case().described());
  const Plan adding = context().plan(small_case(8, 16, 8, 1).described());
  const auto address = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  const Operands good{.a = address(4096),
                      .b = address(8192),
                      .c = address(16384),
                      .d = address(16384),
                      .lda = 8,
                      .ldb = 16,
                      .ldc = 16,
                      .ldd = 16};
  const auto refused = [&](const Plan& which, const Operands& operands, const std::vector<std::string>& parts) {
    expect_thrown(ErrorCode::invalid_argument, parts, [&] { which.launch(stream(), operands); });
  };
  Operands bad = good;
  bad.a = address(4096 + 8);
  refused(plan, bad, {"align=8,16,16", "8 16 8 nn f16 align=16"});
  bad = good;
  bad.ldd = 17;
  refused(plan, bad, {"align=16,16,2", "the plan is for"});
  bad = good;
  bad.beta = 1;
  refused(plan, bad, {"beta is not zero", "align="});
  refused(adding, good, {"beta is zero", "beta=1"});
  bad = good;
  bad.d = nullptr;
  refused(plan, bad, {"d is null"});
  EXPECT_EQ(standin().launches(), 0u);
}

TEST_F(PlanTest, OutlivesItsContextsInterest) {
  const GemmCase c = small_case();
  std::optional<Plan> plan = context(Policy::estimate).plan(c.described());
  const Plan copy = *plan;
  plan.reset();
  expect_right(c, stream(), [&](const Operands& operands) { copy.launch(stream(), operands); });
}

TEST_F(PlanTest, PlansForAnEmptyProblem) {
  for (const Workload& problem : {Workload({.m = 0, .n = 16, .k = 8}), Workload({.m = 8, .n = 0, .k = 8})}) {
    const Plan plan = context().plan(problem);
    plan.launch(stream(), {.lda = 16, .ldb = 16, .ldd = 16});
  }
  EXPECT_EQ(standin().launches(), 0u);
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_THAT(warnings_.take(), testing::IsEmpty());
}

// ---- records ----

/// A record for small_case() with a config that neither the tuner nor the model would pick.
TuningRecord odd_record(Engine& engine, const Environment& environment) {
  const SimtConfig odd{.block_m = 128, .block_n = 128, .block_k = 8, .thread_m = 8, .thread_n = 8};
  return {.problem = small_case().described(),
          .config = odd,
          .launch = {2, true},
          .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
          .environment = environment,
          .template_digest = engine.template_digest(odd)};
}

class RecordTest : public RuntimeTest {
 protected:
  Environment here() { return impl_of(context(Policy::estimate)).current().environment(); }
  TuningRecord odd() { return odd_record(impl_of(context(Policy::estimate)).engine(), here()); }
  void add(const TuningRecord& record) { impl_of(context(Policy::estimate)).engine().database.add(record); }
};

TEST_F(RecordTest, AnExactRecordIsUsed) {
  add(odd());
  forget_context();
  const Plan plan = context(Policy::estimate).plan(small_case().described());
  EXPECT_EQ(plan.origin(), Origin::tuned);
  EXPECT_EQ(plan.config(), to_string(odd().config));
  expect_right(context(), small_case(), stream());
  EXPECT_EQ(context().stats().recorded, 1u);
}

TEST_F(RecordTest, ANearRecordIsUsedAndSaysHowNear) {
  add(odd());
  const Plan near = context().plan(small_case(8, 18, 8).described());
  EXPECT_EQ(near.origin(), Origin::nearest);
  EXPECT_NEAR(near.distance(), std::log2(18.0 / 16), 1e-9);
  EXPECT_EQ(near.config(), to_string(odd().config));
  expect_right(context(), small_case(8, 18, 8), stream());
  EXPECT_EQ(context().plan(small_case(8, 16 * 32, 8).described()).origin(), Origin::estimated);
  EXPECT_EQ(context().stats().nearest, 1u);
  EXPECT_EQ(context().stats().estimated, 1u);
}

TEST_F(RecordTest, AStaleRecordIsUsedUntilItIsTunedAgain) {
  TuningRecord stale = odd();
  stale.environment.driver = "12.4";
  add(stale);
  EXPECT_EQ(context().plan(small_case().described()).config(), to_string(stale.config));
  const TuneResult again = context().tune(std::vector{small_case().described()}, quick_tuning(2)).at(0);
  EXPECT_FALSE(again.was_recorded);
  EXPECT_GE(again.measured, 1);
  forget_context();
  EXPECT_EQ(context(Policy::estimate).plan(small_case().described()).config(), again.config);
}

TEST_F(RecordTest, ARecordOfAReadOnlyLayerIsUsedWhereTheUserHasNone) {
  add(odd());
  forget_context();
  const ScratchDirectory elsewhere;
  ::setenv("HOTGEMM_CACHE_PATH", (cache_.path().string() + ":" + KernelShelf::path()).c_str(), 1);
  Context other(options_in(elsewhere.path(), Policy::tune));
  EXPECT_EQ(other.plan(small_case().described()).config(), to_string(odd().config));
  EXPECT_EQ(other.stats().recorded, 1u);
  KernelShelf::add(elsewhere.path());
}

TEST_F(RecordTest, ARecordThatWasEditedIsIgnored) {
  add(odd());
  forget_context();
  for (const auto& file : std::filesystem::directory_iterator(cache_.path() / "v1" / "db")) {
    std::string text;
    {
      std::ifstream in(file.path());
      std::getline(in, text, '\0');
    }
    const std::size_t at = text.find("_m128_");
    ASSERT_NE(at, text.npos);
    std::ofstream(file.path()) << text.replace(at, 6, "_m127_");
  }
  EXPECT_EQ(context(Policy::estimate).plan(small_case().described()).origin(), Origin::estimated);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("ignores")));
  expect_right(context(), small_case(), stream());
}

TEST_F(RecordTest, TheShippedLayerIsOpened) {
  const ShippedRecords shipped = shipped_records();
  EXPECT_TRUE(std::filesystem::equivalent(shipped.directory, HOTGEMM_SOURCE_DIR "/cache")) << shipped.directory;
  EXPECT_EQ(shipped.owner, ::geteuid());
}

TEST_F(RecordTest, TheShippedLayerIsFoundBesideTheLibrary) {
  const std::filesystem::path records = cache_.path() / "prefix" / "share" / "hotgemm" / "cache";
  std::filesystem::create_directories(records);
  for (const char* file : {"prefix/bin/app", "prefix/lib/libhotgemm.so.1", "prefix/lib/triplet/libhotgemm.so"}) {
    EXPECT_EQ(shipped_records_of(cache_.path() / file).directory, records) << file;
  }
  for (const char* file : {"other/bin/app", "prefix/a/b/c/app", "app"}) {
    EXPECT_NE(shipped_records_of(cache_.path() / file).directory, records) << file;
  }
}

}  // namespace
}  // namespace hotgemm::standin
