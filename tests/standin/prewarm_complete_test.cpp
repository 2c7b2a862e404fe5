// A prewarm is complete: afterwards everything runs, and nothing is compiled.

#include "standin/runtime_fixture.hpp"

#include "config/m_range.hpp"
#include "gpu/misaligned_case.hpp"
#include "prewarm_run.hpp"

#include <string>
#include <vector>

namespace hotgemm::standin {
namespace {

class PrewarmCompleteTest : public RuntimeTest {
 protected:
  /// Fills the test's cache, and leaves it alone: from here on no other layer is read.
  void prepare(const std::vector<Workload>& workloads) {
    std::vector<PrewarmTask> tasks;
    for (const Workload& workload : workloads) tasks.push_back({workload, "sm_90a"});
    const PrewarmReport report =
        prewarm(impl_of(context(Policy::cached_only)).engine(), tasks, {.jobs = 2, .fills_layer = true, .progress = {}})
            .report;
    EXPECT_EQ(report.failed, 0u);
    EXPECT_EQ(report.stored, report.compiled + report.cached) << report.store_failure;
    forget_context();
    ::unsetenv("HOTGEMM_CACHE_PATH");
    impl_of(context(Policy::cached_only)).engine().builder.compile_with([](const KernelSource& source) -> Cubin {
      ADD_FAILURE() << "compiled " << source.symbol;
      throw Error(ErrorCode::compile_failed, "this compiler always fails");
    });
  }
  void expect_nothing_compiled() { EXPECT_EQ(context().stats().compiled, 0u); }

  static GemmCase case_of(const std::string& text, std::int64_t ld_multiple, float beta = 0) {
    GemmCase c;
    c.problem = parse_workload(text);
    c.set_tight_ld(ld_multiple);
    c.beta = beta;
    return c;
  }
};

TEST_F(PrewarmCompleteTest, PackedPaddedAndUnalignedOperandsRun) {
  std::vector<GemmCase> cases;
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    const std::string problem = std::string("66 68 70 ") + layout;
    cases.push_back(case_of(problem + " f16", 1));      // packed
    cases.push_back(case_of(problem + " bf16", 8, 1));  // padded, and C is read
    cases.push_back(case_of(problem + " f32", 1));
  }
  for (int layout = 0; layout < 4; ++layout) cases.push_back(misaligned_case(61, layout, 1 + layout));
  cases.push_back(case_of("64 64 4096 nn f16", 8));    // splits, which add in workspace; without it another kernel runs
  cases.push_back(case_of("300 509 1021 nn f16", 1));  // operands that are repacked
  std::vector<Workload> workloads;
  for (const GemmCase& c : cases) workloads.push_back(c.described());
  prepare(workloads);
  for (const GemmCase& c : cases) expect_right(context(), c, stream());
  EXPECT_GT(context().plan(workloads[workloads.size() - 2]).workspace_bytes(), 0u);
  EXPECT_GT(context().plan(workloads.back()).workspace_bytes(), 0u);
  expect_nothing_compiled();
}

/// Every m of a range finds its class, whatever its bucket and, where A is stored transposed, its alignment.
TEST_F(PrewarmCompleteTest, EveryMOfARangeRuns) {
  std::vector<Workload> workloads;
  const std::vector<std::string> kinds{" 64 64 nt f16", " 64 64 tn f16"};
  for (const std::string& kind : kinds) {
    for (Workload& workload : in_buckets(parse_workload("1" + kind), {1, 40})) workloads.push_back(std::move(workload));
  }
  prepare(workloads);
  for (const std::string& kind : kinds) {
    for (std::int64_t m = 1; m <= 40; ++m) {
      const GemmCase c = case_of(std::to_string(m) + kind, 1);
      EXPECT_NO_THROW(context().plan(c.described())) << c.described().m << kind;
      if (m % 13 == 1) expect_right(context(), c, stream());
    }
  }
  expect_nothing_compiled();
}

TEST_F(PrewarmCompleteTest, LookingFindsWhatIsThereAndNamesWhatIsMissing) {
  const std::vector<PrewarmTask> both{{case_of("8 16 8 nn f16", 8).described(), "sm_90a"},
                                      {case_of("8 16 8 nn f16", 8, 1).described(), "sm_90a"}};
  prepare({both[0].problem});
  const PrewarmReport report = prewarm(impl_of(context()).engine(), both, {.looks_only = true, .progress = {}}).report;
  EXPECT_EQ(report.cached, 1u);
  EXPECT_EQ(report.failed, 1u);
  ASSERT_EQ(report.entries.size(), 2u);
  EXPECT_EQ(report.entries[1].failure, kNotInCache);
  expect_nothing_compiled();
}

}  // namespace
}  // namespace hotgemm::standin
