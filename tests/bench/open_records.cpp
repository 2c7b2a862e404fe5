// The time to open the tuning records, as every process does: those that ship, and a user's beside them. And the first
// look-up, which parses the lines of its class, and the first neighbours, which index the classes of a layout and type.
// Needs no GPU.

#include "records/database.hpp"

#include <benchmark/benchmark.h>

#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

namespace hotgemm {
namespace {

/// A directory with `count` records of random classes.
class UserRecords {
 public:
  explicit UserRecords(std::int64_t count)
      : path_(std::filesystem::temp_directory_path() / ("hotgemm-bench-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    Database database({.user_directory = path_});
    std::mt19937_64 random(1);
    for (std::int64_t i = 0; i < count; ++i) {
      TuningRecord record;
      const auto size = [&] { return static_cast<std::int64_t>(8 * (1 + random() % 4096)); };
      record.problem = Workload({.m = size(), .n = size(), .k = size(), .op_b = Op::t});
      record.config = MmaConfig{};
      record.timing = {.median_us = 10, .spread_us = 0.1, .samples = 7, .ratio = 1};
      record.environment = {.gpu = "NVIDIA H200", .arch = "sm_90a", .sm_count = 132};
      record.template_digest = std::string(64, 'a');
      database.add(record);
    }
  }
  ~UserRecords() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DatabaseOptions options() const {
    return {.user_directory = path_, .shipped = std::filesystem::path(HOTGEMM_SOURCE_DIR) / "cache"};
  }

 private:
  std::filesystem::path path_;
};

void open_records(benchmark::State& state) {
  const UserRecords user(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Database(user.options()).dropped());
}
BENCHMARK(open_records)->Arg(0)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void open_and_find(benchmark::State& state) {
  const UserRecords user(state.range(0));
  const GpuQuery query{.environment = {.gpu = "NVIDIA H200", .arch = "sm_90a", .sm_count = 132}};
  const Workload problem({.m = 4096, .n = 4096, .k = 4096, .op_b = Op::t});
  for (auto _ : state) {
    const Database database(user.options());
    benchmark::DoNotOptimize(database.find(problem, query));
    benchmark::DoNotOptimize(database.nearest(problem, query, 4));
  }
}
BENCHMARK(open_and_find)->Arg(0)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hotgemm
