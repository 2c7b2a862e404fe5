// A prewarmed cache, and the time to the first result of a process. Times are checked on a GPU, but not under a
// checker.

#include "context_impl.hpp"
#include "gpu/gpu_fixture.hpp"

#include "plan/candidates.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

extern char** environ;

namespace hotgemm {
namespace {

constexpr int kRecords = 10'000;
constexpr double kPrewarmedMs = 10;
constexpr double kEstimatedMs = 800;
constexpr double kTunedMs = 3000;

class Prewarm : public GpuTest {
 protected:
  /// The first result of a new process: the JSON that first_result_program prints, or an empty object.
  nlohmann::json first_result(const std::string& policy) const {
    const std::string program = HOTGEMM_TEST_BIN_DIR "/first_result_program";
    const std::string output = (cache_.path() / "first_result.json").string();
    const std::string start_ns = std::to_string(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
    std::string arguments[] = {program, policy, cache_directory(), start_ns};
    char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = -1;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ), 0) << program;
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << policy;
    if (status != 0) return nlohmann::json::object();
    std::ifstream file(output);
    return nlohmann::json::parse(file);
  }

  /// The smallest time of several runs: other work on the machine can only add to it.
  double best_first_result_ms(const std::string& policy, int runs) const {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < runs; ++i) {
      const nlohmann::json result = first_result(policy);
      best = std::min(best, result.value("first_result_ms", std::numeric_limits<double>::infinity()));
    }
    return best;
  }

  std::string cache_directory() const { return (cache_.path() / "cache").string(); }

  /// Adds kRecords classes that no test asks for, with this GPU's environment.
  void add_records() {
    Context context(options_for(Policy::estimate, cache_directory()));
    Engine& engine = impl_of(context).engine();
    const Environment environment = gpu().state().environment();
    const std::vector<KernelConfig> configs = anchors(GemmTraits{}, arch_limits(gpu().arch()));
    for (int i = 0; i < kRecords; ++i) {
      const KernelConfig& config = configs[static_cast<std::size_t>(i) % configs.size()];
      engine.database.add(
          {.problem = Workload({.m = 1 << (i % 12), .n = 1024 + 8 * (i / 12), .k = 3072, .op_b = Op::t}),
           .config = config,
           .launch = {},
           .timing = {.median_us = 10, .spread_us = 1, .samples = 7, .ratio = 1},
           .environment = environment,
           .template_digest = engine.template_digest(config)});
    }
  }

  std::vector<Workload> problems() const {
    std::vector<Workload> all;
    for (const char* text :
         {"512 512 512 nt f16", "1 4096 4096 nt f16", "4096 4096 4096 nn bf16", "100 77 51 tn f16 acc=f16 align=2",
          "64 64 64 nn f32", "333 512 129 tt bf16 align=16,2,16"}) {
      all.push_back(parse_workload(text));
    }
    all.back().hints.beta_is_zero = false;
    return all;
  }

 private:
  TemporaryDirectory cache_;
};

TEST_F(Prewarm, ACachedOnlyContextPlansEverythingWithoutCompiling) {
  add_records();
  std::size_t failed = 0;
  {
    Context context(options_for(Policy::estimate, cache_directory()));
    const PrewarmReport report = context.prewarm(problems(), {.archs = {gpu().arch()}});
    failed = report.failed;
    EXPECT_GE(report.entries.size(), problems().size());
  }
  EXPECT_EQ(failed, 0u);
  Context context(options_for(Policy::cached_only, cache_directory()));
  for (const Workload& problem : problems()) EXPECT_NO_THROW(context.plan(problem)) << to_string(problem);
  EXPECT_EQ(context.stats().plans, problems().size());
  EXPECT_EQ(context.stats().compiled, 0u);
  const Workload other{Problem{.m = 16, .n = 16, .k = 16, .op_a = Op::t, .op_b = Op::t, .types = kBf16}};
  try {
    context.plan(other);
    ADD_FAILURE() << "planned without a cubin";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_prepared) << error.what();
  }
}

TEST_F(Prewarm, AProcessNeedsNoCompilerAndLittleTime) {
  add_records();
  {
    Context context(options_for(Policy::estimate, cache_directory()));
    context.prewarm(problems(), {.archs = {gpu().arch()}});
  }
  setenv("HOTGEMM_LIBNVRTC", "/nonexistent/libnvrtc.so", 1);
  const nlohmann::json result = first_result("cached_only");
  const double best = best_first_result_ms("cached_only", small_run() ? 1 : 7);
  unsetenv("HOTGEMM_LIBNVRTC");
  EXPECT_EQ(result.value("correct", false), true);
  EXPECT_EQ(result.value("nvrtc_loaded", true), false);
  EXPECT_EQ(result.value("compiled", 1), 0);
  RecordProperty("first_result_ms", std::to_string(best));
  std::printf("first result with a prewarmed cache and %d records: %.2f ms; the context before it: %.0f ms\n", kRecords,
              best, result.value("context_ms", 0.0));
  if (!small_run()) {
    EXPECT_LE(best, kPrewarmedMs);
  }
}

TEST_F(Prewarm, AColdCacheCostsACompilationOrATuning) {
  for (const auto& [policy, limit_ms] : {std::pair("estimate", kEstimatedMs), std::pair("tune", kTunedMs)}) {
    std::error_code ignored;
    std::filesystem::remove_all(cache_directory(), ignored);
    const nlohmann::json result = first_result(policy);
    EXPECT_EQ(result.value("correct", false), true) << policy;
    EXPECT_EQ(result.value("nvrtc_loaded", false), true) << policy;
    EXPECT_GE(result.value("compiled", 0), 1) << policy;
    const double took_ms = result.value("first_result_ms", 1e9);
    RecordProperty(std::string(policy) + "_ms", std::to_string(took_ms));
    std::printf("first result with an empty cache, %s: %.0f ms\n", policy, took_ms);
    if (!small_run()) {
      EXPECT_LE(took_ms, limit_ms) << policy;
    }
  }
}

}  // namespace
}  // namespace hotgemm
