// The C interface: tuning, compiling and packing ahead of calls.

#include "standin/c_api_fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm::standin {
namespace {

using testing::HasSubstr;

TEST_F(CApiTest, TuningReportsEachProblemAndStopsWhenTold) {
  make();
  const char* const problems[] = {"8 16 8 nn f16", "8 32 8 nn f16", "8 48 8 nn f16"};
  struct Seen {
    std::vector<std::string> problems;
    std::size_t most = 3;
  } seen;
  hotgemm_tune_options options = HOTGEMM_TUNE_OPTIONS_INIT;
  options.max_candidates = 2;
  options.budget_s = 100;
  options.rounds = 2;
  options.scratch_bytes = 1 << 20;
  options.user = &seen;
  options.progress = [](void* user, const hotgemm_tune_result* result) -> std::int32_t {
    auto& all = *static_cast<Seen*>(user);
    EXPECT_EQ(result->status, HOTGEMM_SUCCESS) << result->failure;
    EXPECT_GT(result->median_us, 0);
    EXPECT_GT(result->measured, 0);
    EXPECT_GT(result->seconds, 0);
    EXPECT_STRNE(result->config, "");
    all.problems.emplace_back(result->problem);
    return all.problems.size() < all.most ? 1 : 0;
  };
  seen.most = 4;
  EXPECT_EQ(hotgemm_tune(c_context_, problems, 3, &options, nullptr), HOTGEMM_SUCCESS) << last_error();
  EXPECT_THAT(seen.problems,
              testing::ElementsAre("8 16 8 nn f16 align=16", "8 32 8 nn f16 align=16", "8 48 8 nn f16 align=16"));
  seen = {.problems = {}, .most = 1};
  options.retune = 1;
  EXPECT_EQ(hotgemm_tune(c_context_, problems, 3, &options, nullptr), HOTGEMM_INTERRUPTED);
  EXPECT_EQ(seen.problems.size(), 1u);
  const char* const bad[] = {"8 16 8 nn f16", "8 16 nonsense"};
  EXPECT_EQ(hotgemm_tune(c_context_, bad, 2, &options, nullptr), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("problem 1: "));
}

TEST_F(CApiTest, TheSeedOfATuningDrawsItsData) {
  make();
  hotgemm_tune_options options = HOTGEMM_TUNE_OPTIONS_INIT;
  options.max_candidates = 2;
  options.budget_s = 100;
  options.rounds = 2;
  options.scratch_bytes = 1 << 20;
  options.retune = 1;
  const auto tuned_on = [&](std::uint64_t seed) {
    const char* const problem = "8 16 8 nn f16";
    options.seed = seed;
    EXPECT_EQ(hotgemm_tune(c_context_, &problem, 1, &options, nullptr), HOTGEMM_SUCCESS) << last_error();
    return standin().fill_seed();
  };
  const unsigned first = tuned_on(1);
  EXPECT_NE(tuned_on(2), first);
  EXPECT_EQ(tuned_on(1), first);
}

TEST_F(CApiTest, AFailureAmongTunedProblemsIsTold) {
  make();
  const char* const problems[] = {"0 16 8 nn f16", "8 16 8 nn f16"};
  hotgemm_tune_options options = HOTGEMM_TUNE_OPTIONS_INIT;
  options.max_candidates = 2;
  options.budget_s = 100;
  EXPECT_EQ(hotgemm_tune(c_context_, problems, 2, &options, nullptr), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("0 16 8 nn f16"));
  options.scratch_share = 1e-12;
  options.retune = 1;
  EXPECT_NE(hotgemm_tune(c_context_, problems + 1, 1, &options, nullptr), HOTGEMM_SUCCESS)
      << "no operand fits into that share of memory";
}

TEST_F(CApiTest, PrewarmingSucceedsOnlyIfAllIsOnDisk) {
  make();
  const char* const problem = "8 16 8 nn f16";
  const char* const arch = "sm_90a";
  struct Seen {
    std::string config;
    std::int32_t from_cache = 0;
  } seen;
  hotgemm_prewarm_options options = HOTGEMM_PREWARM_OPTIONS_INIT;
  options.archs = &arch;
  options.arch_count = 1;
  options.user = &seen;
  options.entry = [](void* user, const hotgemm_prewarm_entry* entry) {
    EXPECT_STREQ(entry->failure, "");
    EXPECT_STREQ(entry->arch, "sm_90a");
    EXPECT_GT(entry->registers, 0);
    EXPECT_EQ(entry->spill_bytes, 0);
    *static_cast<Seen*>(user) = {entry->config, entry->from_cache};
  };
  hotgemm_prewarm_report report = HOTGEMM_PREWARM_REPORT_INIT;
  ASSERT_EQ(hotgemm_prewarm(c_context_, &problem, 1, &options, &report), HOTGEMM_SUCCESS) << last_error();
  EXPECT_NE(seen.config, "");
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.stored, report.compiled + report.cached);
  EXPECT_GT(report.stored, 0u);
  ASSERT_EQ(hotgemm_prewarm(c_context_, &problem, 1, &options, &report), HOTGEMM_SUCCESS) << last_error();
  EXPECT_EQ(seen.from_cache, 1);
  EXPECT_EQ(report.compiled, 0u);
  hotgemm_context_destroy(std::exchange(c_context_, nullptr));

  make({{"policy", "cached_only"}});
  expect_call(HOTGEMM_SUCCESS);
  hotgemm_context_destroy(std::exchange(c_context_, nullptr));

  make({{"cache.mode", "off"}});
  for (const bool is_in_memory : {false, true}) {
    EXPECT_EQ(hotgemm_prewarm(c_context_, &problem, 1, &options, &report), HOTGEMM_IO_ERROR);
    EXPECT_EQ(report.cached > 0, is_in_memory) << "which ends with the process";
  }
  options.arch_count = 0;
  EXPECT_EQ(hotgemm_prewarm(c_context_, &problem, 1, &options, &report), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("options.archs is empty"));
}

TEST_F(CApiTest, AnOperandIsPackedAndRead) {
  make();
  GemmCase c = small_case(8, 15, 8);
  c.set_tight_ld(1);
  hotgemm_problem problem = c_problem(8, 15, 8);
  std::size_t bytes = 0;
  std::int64_t ld = 0;
  ASSERT_EQ(hotgemm_prepacked_size(&problem, HOTGEMM_OPERAND_B, &bytes, &ld), HOTGEMM_SUCCESS) << last_error();
  CUdeviceptr packed = 0;
  ASSERT_EQ(driver_.cuMemAlloc(&packed, bytes), CUDA_SUCCESS);
  expect_right(c, stream(), [&](const Operands& o) {
    ASSERT_EQ(hotgemm_pack(c_context_, &problem, HOTGEMM_OPERAND_B, o.b, o.ldb, reinterpret_cast<void*>(packed),
                           stream(), nullptr),
              HOTGEMM_SUCCESS)
        << last_error();
    problem.prepacked_b = 1;
    Operands with = o;
    with.b = reinterpret_cast<void*>(packed);
    with.ldb = ld;
    ASSERT_EQ(call(problem, with), HOTGEMM_SUCCESS) << last_error();
  });
  driver_.cuMemFree(packed);
  EXPECT_EQ(hotgemm_prepacked_size(&problem, 2, &bytes, &ld), HOTGEMM_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace hotgemm::standin
