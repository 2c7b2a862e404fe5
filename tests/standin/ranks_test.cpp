// Ranks of a job with one cache: they pick the same kernels, and compile each once.

#include "config/prepacked.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "gpu/nvrtc.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"
#include "standin/runtime_fixture.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

namespace hotgemm::standin {
namespace {

constexpr int kRanks = 64;
constexpr std::size_t kKernels = 20;

Environment fleet_gpu() {
  return {.gpu = "Fictional FX-1000", .arch = "sm_90a", .sm_count = 99, .driver = "580.159", .toolchain = ""};
}

/// Problems of as many layouts, types and betas, so that each needs a kernel of its own.
std::vector<Workload> fleet_problems() {
  std::vector<Workload> problems;
  for (const char* type : {"f16", "bf16", "f32"}) {
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      for (const char* beta : {"0", "1"}) {
        if (problems.size() == kKernels) return problems;
        problems.push_back(parse_workload(std::string("4096 4096 512 ") + layout + " " + type + " beta=" + beta));
      }
    }
  }
  return problems;
}

void append_byte(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, "x", 1) != 1) throw std::runtime_error("append to " + path.string());
  ::close(fd);
}

/// A rank plans its classes before its first launch. It writes its picks and the digest of its records to `report`.
void plan_as_rank(const ContextOptions& options, const std::filesystem::path& report,
                  const std::filesystem::path& compilations) {
  Engine engine(options);
  engine.builder.compile_with([&](const KernelSource& source) {
    append_byte(compilations);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Cubin{.image = {1}, .symbol = source.symbol, .arch = "sm_90a", .toolchain = Nvrtc::get().toolchain()};
  });
  std::ofstream out(report);
  for (const Workload& problem : fleet_problems()) {
    const Choice choice = choose(problem, "sm_90a", engine.database, engine.query(fleet_gpu())).front();
    engine.build(render(choice.config, traits_of(repacked(problem, choice.config)), "sm_90a", engine.bundle));
    out << to_string(problem) << ": " << to_string(choice) << "\n";
  }
  out << engine.records_digest() << "\n";
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RanksTest, AgreeAndCompileEachKernelOnce) {
  set_test_environment();
  ::unsetenv("HOTGEMM_CACHE_PATH");
  const ScratchDirectory directory;
  const ContextOptions options = options_in(directory.path() / "cache", Policy::estimate);
  {
    Engine engine(options);  // half of the classes have a record, which the anchors would not give
    const std::vector<Workload> problems = fleet_problems();
    ASSERT_EQ(problems.size(), kKernels);
    for (std::size_t i = 0; i < problems.size(); i += 2) {
      TuningRecord record;
      record.problem = problems[i];
      record.config = candidates(problems[i], arch_limits("sm_90a")).back();
      record.timing = {.median_us = 10, .spread_us = 1, .samples = 5};
      record.environment = fleet_gpu();
      record.environment.toolchain = "nvrtc-13.0-0123abcd";
      record.template_digest = engine.template_digest(record.config);
      engine.database.add(record);
    }
  }
  const std::filesystem::path compilations = directory.path() / "compilations";
  const auto report_of = [&](int rank) { return directory.path() / ("rank-" + std::to_string(rank)); };
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        plan_as_rank(options, report_of(rank), compilations);
        ::_exit(0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        ::_exit(1);
      }
    }
    ranks.push_back(child);
  }
  for (const pid_t rank : ranks) {
    int status = 0;
    ::waitpid(rank, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const std::string report = content_of(report_of(0));
  EXPECT_EQ(std::ranges::count(report, '\n'), static_cast<std::ptrdiff_t>(kKernels) + 1);
  EXPECT_THAT(report, testing::HasSubstr("tuned"));
  for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(content_of(report_of(rank)), report) << "rank " << rank;
  EXPECT_EQ(std::filesystem::file_size(compilations), kKernels);
}

TEST(RanksTest, TheDigestShowsWhatDecidesPicks) {
  set_test_environment();
  const ScratchDirectory directory;
  ContextOptions options = options_in(directory.path() / "cache", Policy::estimate);
  const auto digest = [&] { return Context(options).records_digest(); };
  const std::string empty = digest();
  EXPECT_EQ(empty.size(), 64u);
  EXPECT_EQ(digest(), empty);
  options.objective = Objective::energy;
  EXPECT_NE(digest(), empty);
  options.objective = Objective::speed;
  options.workspace_bytes = 0;
  EXPECT_NE(digest(), empty);
  options.workspace_bytes = ContextOptions{}.workspace_bytes;
  Context context(options);
  TuningRecord record;
  record.problem = parse_workload("64 64 64 nn f16");
  record.config = candidates(record.problem, arch_limits("sm_90a")).front();
  record.timing = {.median_us = 10, .spread_us = 1, .samples = 5};
  record.environment = fleet_gpu();
  record.environment.toolchain = "nvrtc-13.0-0123abcd";
  record.template_digest = impl_of(context).engine().template_digest(record.config);
  impl_of(context).engine().database.add(record);
  EXPECT_NE(context.records_digest(), empty);
  EXPECT_EQ(digest(), context.records_digest()) << "another process that reads the records";
}

}  // namespace
}  // namespace hotgemm::standin
