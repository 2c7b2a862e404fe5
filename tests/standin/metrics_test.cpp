#include "runtime/counters.hpp"

#include "standin/runtime_fixture.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

namespace hotgemm::standin {
namespace {

/// The samples of Prometheus text by their names with labels. Fails for lines that do not have its form, and for
/// samples without HELP and TYPE before them.
class ParsedMetrics {
 public:
  explicit ParsedMetrics(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string first, keyword, name;
      words >> first;
      if (first == "#") {
        words >> keyword >> name;
        std::string rest;
        std::getline(words, rest);
        EXPECT_FALSE(rest.empty()) << line;
        if (keyword == "HELP") helped_ = name;
        if (keyword == "TYPE") {
          EXPECT_EQ(name, helped_) << line;
          typed_ = name;
          types[name] = rest.substr(1);
        }
        continue;
      }
      EXPECT_TRUE(first.starts_with(typed_)) << line;
      std::string value, more;
      words >> value >> more;
      EXPECT_EQ(more, "") << line;
      std::size_t end = 0;
      const double number = std::stod(value, &end);
      EXPECT_EQ(end, value.size()) << line;
      EXPECT_TRUE(samples.emplace(first, number).second) << "twice: " << line;
    }
  }
  double at(const std::string& name) const {
    const auto found = samples.find(name);
    if (found == samples.end()) ADD_FAILURE() << "no " << name;
    return found != samples.end() ? found->second : -1;
  }

  std::map<std::string, std::string> types;  // by name
  std::map<std::string, double> samples;

 private:
  std::string helped_, typed_;
};

/// The upper bounds of the histograms, in seconds.
constexpr std::array<const char*, WaitTimes::kBuckets - 1> kBounds{
    "1e-06",    "2e-06",    "4e-06",    "8e-06",    "1.6e-05",  "3.2e-05",  "6.4e-05",   "0.000128",  "0.000256",
    "0.000512", "0.001024", "0.002048", "0.004096", "0.008192", "0.016384", "0.032768",  "0.065536",  "0.131072",
    "0.262144", "0.524288", "1.048576", "2.097152", "4.194304", "8.388608", "16.777216", "33.554432", "67.108864"};

class MetricsTest : public RuntimeTest {};

TEST_F(MetricsTest, SayWhatHappened) {
  const GemmCase c = small_case();
  expect_right(context(), c, stream());  // tunes
  const Plan plan = context().plan(small_case(8, 32, 8).described(), Policy::estimate);
  expect_right(context(), c, stream());
  expect_right(small_case(8, 32, 8), stream(), [&](const Operands& o) { plan.launch(stream(), o); });
  const ParsedMetrics metrics(context().metrics());
  EXPECT_EQ(metrics.at("hotgemm_plans_total"), 2);
  EXPECT_EQ(metrics.at("hotgemm_plans_tuned_total"), 1);
  EXPECT_EQ(metrics.at("hotgemm_plans_live"), 2);
  EXPECT_EQ(metrics.at("hotgemm_plans_evicted_total"), 0);
  EXPECT_EQ(metrics.at("hotgemm_plans_exchanged_total"), 0);
  EXPECT_EQ(metrics.at("hotgemm_classes_waiting"), 0);
  EXPECT_EQ(metrics.at("hotgemm_launches_total"), 3);
  EXPECT_EQ(metrics.at("hotgemm_cubins_refused_total"), 0);
  EXPECT_EQ(metrics.at("hotgemm_planning_seconds_count"), 2);
  EXPECT_EQ(metrics.at("hotgemm_tuning_seconds_count"), 1);
  EXPECT_GE(metrics.at("hotgemm_planning_seconds_sum"), metrics.at("hotgemm_tuning_seconds_sum"));
  EXPECT_GT(metrics.at("hotgemm_tuning_seconds_sum"), 0);
  EXPECT_GT(metrics.at("hotgemm_cache_memory_hits_total") + metrics.at("hotgemm_cache_disk_hits_total"), 0);
}

TEST_F(MetricsTest, AreWellFormedHistogramsAndCounters) {
  expect_right(context(Policy::estimate), small_case(), stream());
  const ParsedMetrics metrics(context().metrics());
  for (const auto& [name, type] : metrics.types) {
    SCOPED_TRACE(name);
    EXPECT_EQ(type == "counter", name.ends_with("_total"));
    if (type != "histogram") continue;
    double last = 0;
    int buckets = 0;
    for (const char* bound : kBounds) {
      const double count = metrics.at(name + "_bucket{le=\"" + bound + "\"}");
      EXPECT_GE(count, last);
      last = count;
      ++buckets;
    }
    EXPECT_GT(buckets, 20);
    EXPECT_GE(metrics.at(name + "_bucket{le=\"+Inf\"}"), last);
    EXPECT_EQ(metrics.at(name + "_bucket{le=\"+Inf\"}"), metrics.at(name + "_count"));
  }
}

TEST_F(MetricsTest, AreDocumentedOneByOne) {
  std::stringstream page;
  page << std::ifstream(HOTGEMM_SOURCE_DIR "/docs/metrics.md").rdbuf();
  for (const auto& [name, type] : ParsedMetrics(context().metrics()).types) {
    EXPECT_THAT(page.str(), testing::HasSubstr("`" + name + "` | " + type));
  }
}

TEST_F(MetricsTest, ALineForEachClassThatIsPlannedAndEachKernelThatIsCompiled) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ::unsetenv("HOTGEMM_CACHE_PATH");
  context(Policy::estimate);
  set_log_level("debug");
  set_log_sink([&](std::string_view level, std::string_view message) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::string(level) + ": " + std::string(message));
  });
  const Plan plan = context().plan(small_case().described());
  context().plan(small_case().described());
  set_log_sink({});
  set_log_level("warn");
  const auto count = [&](const std::string& part) {
    return std::ranges::count_if(lines, [&](const std::string& line) { return line.find(part) != line.npos; });
  };
  EXPECT_EQ(count("info: planned " + to_string(small_case().described()) + " in "), 1);
  EXPECT_EQ(count("info: compiled hotgemm_"), static_cast<std::ptrdiff_t>(context().stats().compiled));
  EXPECT_GE(count("debug: kernel cache: miss"), 1);
}

TEST_F(MetricsTest, ThreadsThatWaitedAreCounted) {
  using namespace std::chrono_literals;
  has_real_kernels_ = false;
  ::unsetenv("HOTGEMM_CACHE_PATH");
  context(Policy::estimate);  // under Policy::tune nobody waits
  std::promise<void> reached, opened;
  std::atomic<int> compiled{0};
  impl_of(*context_).engine().builder.compile_with([&](const KernelSource& source) {
    if (compiled++ == 0) {
      reached.set_value();
      EXPECT_EQ(opened.get_future().wait_for(20s), std::future_status::ready);
    }
    return Cubin{.image = fake_cubin({source.symbol}), .symbol = source.symbol, .arch = "sm_90a"};
  });
  const auto plan = [&] {
    driver_.cuCtxSetCurrent(cuda_context_);
    context_->plan(small_case().described());
  };
  std::thread first(plan);
  reached.get_future().wait();
  std::thread second(plan);
  DeviceState& state = impl_of(*context_).current();
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (state.planning().waiting() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(state.planning().waiting(), 1);
  opened.set_value();
  first.join();
  second.join();
  const Stats stats = context().stats();
  EXPECT_EQ(stats.plans, 1u);
  EXPECT_EQ(stats.waiting.count, 1u);
  EXPECT_EQ(stats.planning.count, 1u);
}

TEST(WaitHistogram, CountsInBucketsThatDouble) {
  using namespace std::chrono_literals;
  WaitHistogram histogram;
  for (const auto time : {0ns, 999ns, 1000ns, 1999ns, 2000ns}) histogram.add(time);
  histogram.add(1h);
  histogram.add(-1ns);
  const WaitTimes times = histogram.read();
  EXPECT_EQ(times.buckets[0], 3u) << "less than 1 µs";
  EXPECT_EQ(times.buckets[1], 2u) << "less than 2 µs";
  EXPECT_EQ(times.buckets[2], 1u);
  EXPECT_EQ(times.buckets.back(), 1u);
  EXPECT_EQ(times.count, 7u);
  EXPECT_NEAR(times.total_s, 3600, 1);
}

}  // namespace
}  // namespace hotgemm::standin
