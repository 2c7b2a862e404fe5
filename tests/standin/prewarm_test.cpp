#include "standin/runtime_fixture.hpp"

#include "config/device_info.hpp"
#include "tune/tune.hpp"

#include <algorithm>
#include <set>

namespace hotgemm::standin {
namespace {

/// Prewarming into an empty cache, without a CUDA context.
class PrewarmTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    ::unsetenv("HOTGEMM_CACHE_PATH");
  }
  static PrewarmOptions for_archs(const std::vector<std::string>& archs) {
    PrewarmOptions options;
    options.archs = archs;
    options.jobs = 2;
    return options;
  }
  /// One problem, one that uses the same kernel in another class, and one that uses another kernel.
  static std::vector<Workload> problems() {
    return {small_case(8, 16, 8).described(), small_case(7, 16, 8).described(), small_case(8, 16, 8, 1).described()};
  }
};

TEST_F(PrewarmTest, CompilesEachKernelOnce) {
  const PrewarmReport first = context(Policy::cached_only).prewarm(problems(), for_archs({"sm_90a"}));
  ASSERT_EQ(first.entries.size(), 3u);
  std::set<std::pair<std::string, bool>> kernels;
  for (const PrewarmEntry& entry : first.entries) {
    EXPECT_EQ(entry.failure, "");
    EXPECT_EQ(entry.arch, "sm_90a");
    EXPECT_EQ(entry.origin, Origin::estimated);
    EXPECT_FALSE(entry.from_cache);
    EXPECT_GT(entry.resources.registers, 0);
    EXPECT_GT(entry.resources.compile_ms, 0);
    kernels.emplace(entry.config, entry.problem.hints.beta_is_zero);
  }
  EXPECT_EQ(kernels.size(), 2u);
  EXPECT_EQ(first.compiled, 2u);
  EXPECT_EQ(first.cached, 0u);
  EXPECT_EQ(first.failed, 0u);
  EXPECT_EQ(context().stats().compiled, 2u);

  forget_context();
  const PrewarmReport second = context(Policy::cached_only).prewarm(problems(), for_archs({"sm_90a"}));
  EXPECT_EQ(second.compiled, 0u);
  EXPECT_EQ(second.cached, 2u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(second.entries.at(i).from_cache);
    EXPECT_EQ(second.entries[i].config, first.entries[i].config);
    EXPECT_EQ(context().plan(problems()[i]).config(), first.entries[i].config);
  }
  EXPECT_EQ(context().stats().compiled, 0u);
}

/// The shape as a shape file and --shape give it, and a call of that size with rows that are not padded.
TEST_F(PrewarmTest, PackedRowsAskForWhatWasPrepared) {
  for (const char* text : {"70 71 73 nn f16", "70 71 73 tt f16", "66 68 70 tn bf16", "9 5 6 nt f32"}) {
    SCOPED_TRACE(text);
    const Workload prepared = parse_workload(text);
    const PrewarmReport report = context(Policy::cached_only).prewarm(std::vector{prepared}, for_archs({"sm_90a"}));
    EXPECT_EQ(report.failed, 0u);
    GemmCase c;
    c.problem = prepared;
    c.set_tight_ld(1);
    EXPECT_EQ(c.described(), prepared);
    expect_right(context(), c, stream());
    EXPECT_EQ(context().plan(c.described()).config(), report.entries.at(0).config);
  }
}

TEST_F(PrewarmTest, UnalignedRowsAreNotPreparedAsAligned) {
  const Workload packed = parse_workload("1000 1001 1003 nn f16"),
                 padded = parse_workload("1000 1001 1003 nn f16 align=16");
  context(Policy::cached_only).prewarm(std::vector{packed}, for_archs({"sm_90a"}));
  GemmCase c;
  c.problem = packed;
  c.set_tight_ld(1);
  EXPECT_NO_THROW(context().plan(c.described()));
  c.set_tight_ld(8);
  EXPECT_EQ(c.described(), padded);
  expect_thrown(ErrorCode::not_prepared, {"align=16"}, [&] { context().plan(c.described()); });
}

TEST_F(PrewarmTest, NeedsNoDriver) {
  const std::size_t calls = standin().calls("*");
  context(Policy::cached_only).prewarm(std::vector{problems()[0]}, for_archs({"sm_80", "sm_90a"}));
  EXPECT_EQ(standin().calls("*"), calls);
}

TEST_F(PrewarmTest, EachArchitectureHasItsKernels) {
  const PrewarmReport report =
      context(Policy::cached_only).prewarm(std::vector{problems()[0]}, for_archs({"sm_80", "sm_90a"}));
  ASSERT_EQ(report.entries.size(), 2u);
  EXPECT_EQ(report.entries[0].arch, "sm_80");
  EXPECT_EQ(report.entries[1].arch, "sm_90a");
  EXPECT_EQ(report.compiled, 2u);
}

TEST_F(PrewarmTest, WithCandidatesTuningCompilesNothing) {
  ::setenv("HOTGEMM_CACHE_PATH", KernelShelf::path().c_str(), 1);  // compiling twenty candidates would take long
  PrewarmOptions all = for_archs({"sm_90a"});
  all.candidates = true;
  const std::vector<Workload> one{problems()[0]};
  const PrewarmReport report = context(Policy::tune).prewarm(one, all);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_GT(report.compiled + report.cached, static_cast<std::size_t>(TuneOptions{}.max_candidates));
  const std::uint64_t compiled = context().stats().compiled;
  EXPECT_NE(context().tune(one, quick_tuning(TuneOptions{}.max_candidates)).at(0).config, "");
  EXPECT_EQ(context().stats().compiled, compiled);
}

TEST_F(PrewarmTest, WhatARecordPicksIsBuilt) {
  context(Policy::tune, 1);
  const std::vector<Workload> one{problems()[0]};
  const std::string tuned = context().tune(one, quick_tuning(2)).at(0).config;
  forget_context();
  const PrewarmReport report = context(Policy::cached_only).prewarm(one, for_archs({"sm_90a"}));
  EXPECT_TRUE(std::ranges::any_of(report.entries, [&](const PrewarmEntry& e) {
    return e.config == tuned && e.origin == Origin::tuned && e.failure.empty();
  }));
  EXPECT_EQ(context().plan(one[0]).config(), tuned);
  EXPECT_EQ(context().plan(one[0]).origin(), Origin::tuned);
}

TEST_F(PrewarmTest, ArchitecturesThatAreUnknown) {
  for (const char* arch : {"sm_1", "sm_90b", "", "compute_90"}) {
    expect_thrown(ErrorCode::invalid_argument, {std::string("unknown arch '") + arch + "'", "sm_80", "sm_90a"}, [&] {
      context(Policy::cached_only).prewarm(problems(), for_archs({"sm_80", arch}));
    });
  }
  EXPECT_EQ(context().stats().compiled, 0u);
}

TEST_F(PrewarmTest, BadProblemsAreRefusedBeforeAnythingIsCompiled) {
  std::vector<Workload> bad = problems();
  bad.push_back(Workload({.m = 8, .n = -1, .k = 8}));
  expect_thrown(ErrorCode::invalid_argument, {"n is negative"},
                [&] { context(Policy::cached_only).prewarm(bad, for_archs({"sm_90a"})); });
  EXPECT_EQ(context().stats().compiled, 0u);
}

TEST_F(PrewarmTest, WhatLiesOnNoDiskIsNotStored) {
  ContextOptions off = options(Policy::cached_only);
  off.cache.mode = CacheMode::off;
  Context without(off);
  for (int i = 0; i < 2; ++i) {  // the second time from memory
    const PrewarmReport report = without.prewarm(problems(), for_archs({"sm_90a"}));
    EXPECT_EQ(report.compiled + report.cached, 2u);
    EXPECT_EQ(report.failed, 0u);
    EXPECT_EQ(report.stored, 0u);
    EXPECT_THAT(report.store_failure, testing::HasSubstr(cache_.path().string()));
    EXPECT_FALSE(report.interrupted);
  }
  const PrewarmReport stored = context(Policy::cached_only).prewarm(problems(), for_archs({"sm_90a"}));
  EXPECT_EQ(stored.stored, 2u);
  EXPECT_EQ(stored.store_failure, "");
}

/// A kernel that is only in memory, because somebody has removed the cache, is stored again.
TEST_F(PrewarmTest, WhatWasRemovedIsStoredAgain) {
  context(Policy::cached_only).prewarm(problems(), for_archs({"sm_90a"}));
  std::filesystem::remove_all(cache_.path() / "v1");
  const PrewarmReport report = context().prewarm(problems(), for_archs({"sm_90a"}));
  EXPECT_EQ(report.compiled, 0u);
  EXPECT_EQ(report.stored, 2u);
  forget_context();
  EXPECT_EQ(context(Policy::cached_only).plan(problems()[0]).origin(), Origin::estimated);
}

TEST_F(PrewarmTest, ProgressCountsAndMayStop) {
  PrewarmOptions options = for_archs({"sm_90a"});
  options.jobs = 1;
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  options.progress = [&](std::size_t done, std::size_t total) {
    seen.emplace_back(done, total);
    return false;
  };
  const PrewarmReport report = context(Policy::cached_only).prewarm(problems(), options);
  EXPECT_THAT(seen, testing::ElementsAre(testing::Pair(1u, 2u)));
  EXPECT_EQ(report.compiled, 1u);
  EXPECT_EQ(report.stored, 1u);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.not_started, 1u);
  EXPECT_TRUE(report.interrupted);
  ASSERT_EQ(report.entries.size(), 3u);
  EXPECT_EQ(std::ranges::count(report.entries, "interrupted", &PrewarmEntry::failure), 1);

  seen.clear();
  options.progress = [&](std::size_t done, std::size_t total) {
    seen.emplace_back(done, total);
    return true;
  };
  EXPECT_EQ(context().prewarm(problems(), options).failed, 0u);
  EXPECT_THAT(seen, testing::ElementsAre(testing::Pair(1u, 2u), testing::Pair(2u, 2u)));
}

}  // namespace
}  // namespace hotgemm::standin
