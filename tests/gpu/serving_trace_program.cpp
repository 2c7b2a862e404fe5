// serving_trace_program OPTIONS: the products of an 8B language model as a server asks for them.
//
// A step is the four products of a layer (bf16, nt) in a row, for a number of rows from a mix of decode batches, chunks
// of prompts and odd sizes. After each step the program waits, so that the GPU has gaps; a second stream runs a
// memory-bound kernel beside every few steps. Prints one JSON object: the host time of the calls, the GPU time of the
// steps, and their speed over time relative to a reference. See --help.

#include "config/class_key.hpp"
#include "context_impl.hpp"
#include "gpu/check_kernels.hpp"
#include "gpu/cublas.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/serving_trace.hpp"
#include "gpu/stream.hpp"

#include <hotgemm/hotgemm.hpp>

#include <sys/resource.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <thread>

namespace hotgemm {
namespace {

constexpr const char* kHelp = R"(usage: serving_trace_program [OPTION VALUE]...
  --policy P           background, estimate, tune, cached_only or cublas (default: estimate)
  --seconds S          length of the trace (60)
  --load L             part of the time in which the GPU has a step to do, above 0 to 1 (0.7)
  --share X            BackgroundOptions::gpu_share (its default)
  --cache DIR          cache directory (HOTGEMM_CACHE_DIR, or the user's)
  --worker PATH        ContextOptions::worker
  --seed N             of the numbers of rows (1)
  --check N            compare every bit of every Nth step, 0: of none (0); the operands are those of the exact check
  --side N             a kernel on the second stream beside every Nth step, 0: none (4)
  --reference FILE     the times of steps that speeds are relative to (default: the medians of this run)
  --write-reference F  write the medians of this run as such a file
  --csv FILE           write the steps: time, m, host time of the slowest call, GPU time
  --list FILE          write the problems, one of each class, as `hotgemm tune --shapes FILE` reads them, and end
  --scale N            divide n and k by N, and the largest m (4096), for a device that is slow (1)
)";

struct Options {
  std::string policy = "estimate", cache, worker, reference, write_reference, csv, list;
  double seconds = 60, load = 0.7, share = 0;
  std::uint64_t seed = 1, side = 4, check = 0;
  std::int64_t scale = 1;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--help") throw std::invalid_argument("");
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    const std::string value = argv[i + 1];
    const std::map<std::string, std::string*> texts{{"--policy", &o.policy}, {"--cache", &o.cache},
                                                    {"--worker", &o.worker}, {"--reference", &o.reference},
                                                    {"--csv", &o.csv},       {"--write-reference", &o.write_reference},
                                                    {"--list", &o.list}};
    const std::map<std::string, std::uint64_t*> counts{{"--seed", &o.seed}, {"--side", &o.side}, {"--check", &o.check}};
    const std::map<std::string, double*> numbers{{"--seconds", &o.seconds}, {"--load", &o.load}, {"--share", &o.share}};
    if (const auto text = texts.find(name); text != texts.end()) {
      *text->second = value;
    } else if (const auto number = numbers.find(name); number != numbers.end()) {
      *number->second = std::stod(value);
    } else if (const auto count = counts.find(name); count != counts.end()) {
      *count->second = std::stoull(value);
    } else if (name == "--scale") {
      o.scale = std::stoll(value);
    } else {
      throw std::invalid_argument("no option " + name);
    }
  }
  if (!(o.load > 0 && o.load <= 1)) throw std::invalid_argument("--load is above 0, and at most 1");
  return o;
}

ContextOptions context_options(const Options& o) {
  ContextOptions options = ContextOptions::from_environment();
  options.policy = Policy::estimate;
  for (const Policy policy : {Policy::background, Policy::tune, Policy::cached_only}) {
    if (o.policy == to_string(policy)) options.policy = policy;
  }
  if (o.policy != to_string(options.policy) && o.policy != "cublas") {
    throw std::invalid_argument("no policy " + o.policy);
  }
  if (o.share > 0) options.background.gpu_share = o.share;
  options.cache_directory = o.cache;
  options.worker = o.worker;
  return options;
}

struct Shape {
  const char* name;
  std::int64_t n;
  std::int64_t k;
};
constexpr Shape kLayer[] = {{"qkv", 6144, 4096}, {"o", 4096, 4096}, {"gate_up", 28672, 4096}, {"down", 4096, 14336}};
constexpr std::int64_t kLargestM = 4096;

Problem problem_of(const Shape& shape, std::int64_t m, std::int64_t scale) {
  return {.m = m, .n = shape.n / scale, .k = shape.k / scale, .op_b = Op::t, .types = kBf16};
}

/// A weight, and room for the activations in front of it and behind it.
class Weight {
 public:
  static constexpr unsigned kSeed = 1;

  Weight(const Driver& driver, const CheckKernels& kernels, CUstream stream, const Problem& largest, bool is_checked)
      : driver_(driver),
        a_(driver, bytes(largest.m, largest.k)),
        b_(driver, bytes(largest.n, largest.k)),
        d_(driver, bytes(largest.m, largest.n)),
        set_{.a = a_.get(),
             .b = b_.get(),
             .c = 0,
             .d = d_.get(),
             .lda = largest.k,
             .ldb = largest.k,
             .ldc = largest.n,
             .ldd = largest.n} {
    if (is_checked) {
      kernels.fill_check(largest, set_, kSeed, stream);
    } else {
      kernels.fill_normal(largest, set_, kSeed, stream);
    }
  }
  const OperandSet& set() const { return set_; }
  void poison(CUstream stream) const {
    driver_.check(driver_.cuMemsetD8Async(d_.get(), unwritten_byte(kBf16.d), d_.bytes(), stream), "poison D");
  }

 private:
  static std::size_t bytes(std::int64_t rows, std::int64_t cols) { return static_cast<std::size_t>(rows * cols) * 2; }

  const Driver& driver_;
  DeviceBuffer a_, b_, d_;
  OperandSet set_;
};

using ClassBits = std::array<std::uint64_t, sizeof(ClassKey) / sizeof(std::uint64_t)>;
ClassBits class_bits(const Workload& workload) { return std::bit_cast<ClassBits>(class_key(workload)); }

/// A product for one number of rows.
struct Product {
  std::string name;
  Problem problem;
  Operands operands;
  Workload workload;
  ClassBits class_id;
  Launch cublas;  // empty unless it is asked for
};

/// A slow call.
struct SlowCall {
  double us = 0;
  double time_s = 0;
  std::string name;
  bool is_first = false;       ///< the first one of its class
  bool was_preempted = false;  ///< the thread lost its core in this step

  nlohmann::json json() const {
    return {{"us", std::round(us * 10) / 10},
            {"time_s", time_s},
            {"call", name},
            {"first_of_class", is_first},
            {"preempted", was_preempted}};
  }
};

long preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Trace(const Options& options)
      : options_(options),
        driver_(Driver::get()),
        primary_(driver_, 0),
        rows_(options.seed, kLargestM / options.scale) {
    ContextOptions setup = context_options(options);
    setup.policy = Policy::estimate;
    setup_.emplace(setup);
    const CheckKernels& kernels = impl_of(*setup_).current().check_kernels();
    for (const Shape& shape : kLayer) {
      const Problem largest = problem_of(shape, kLargestM / options.scale, options.scale);
      weights_.push_back(std::make_unique<Weight>(driver_, kernels, stream_.get(), largest, options.check > 0));
    }
    kernels.pointwise(side_memory_.get(), side_memory_.bytes(), side_.get());
    driver_.check(driver_.cuCtxSynchronize(), "fill the operands");
    make_products();
    context_.emplace(context_options(options));
  }

  /// One problem of each class.
  std::string problems() const {
    std::set<ClassBits> seen;
    std::string text;
    for (const auto& [m, products] : products_) {
      for (const Product& p : products) {
        if (seen.insert(p.class_id).second) text += to_string(p.workload) + "\n";
      }
    }
    return text;
  }

  void run() {
    const auto most_steps = static_cast<std::size_t>(options_.seconds * kMostStepsPerSecond) + 1;
    steps_.reserve(most_steps);  // so that no step waits for a copy
    later_us_.reserve(most_steps * std::size(kLayer));
    start_ = Clock::now();
    for (std::uint64_t i = 0; seconds() < options_.seconds; ++i) {
      const bool has_side_work = options_.side > 0 && i % options_.side == 0;
      if (has_side_work) {
        impl_of(*setup_).current().check_kernels().pointwise(side_memory_.get(), side_memory_.bytes(), side_.get());
      }
      const std::int64_t m = rows_.next();
      const bool is_checked = options_.check > 0 && i % options_.check == 0;
      if (is_checked) poison();
      step(m);
      if (is_checked) compare(m);
    }
    driver_.check(driver_.cuCtxSynchronize(), "wait for the end of the trace");
  }

  nlohmann::json report() {
    const StepTimes own = medians_of(steps_);
    const StepTimes reference = options_.reference.empty() ? own : read_step_times(options_.reference);
    if (!options_.write_reference.empty()) write_step_times(options_.write_reference, own);
    if (!options_.csv.empty()) write_steps(options_.csv, steps_);
    const TraceSummary summary(steps_, reference);
    return {{"policy", options_.policy},
            {"gpu", impl_of(*setup_).current().info().name},
            {"seconds", options_.seconds},
            {"load", options_.load},
            {"gpu_share", context_options(options_).background.gpu_share},
            {"steps", steps_.size()},
            {"reference", options_.reference.empty() ? "medians of this run" : options_.reference},
            {"busy", busy_us_ * 1e-6 / options_.seconds},
            {"host", host_report()},
            {"normalised", summary.normalised()},
            {"speed", summary.speed()},
            {"speed_of_last_tenth", speed_of_last_tenth(reference)},
            {"by_m", summary.by_rows()},
            {"windows", summary.windows()},
            {"checked_products", checked_},
            {"wrong", wrong_},
            {"stats", stats_report()}};
  }
  bool is_right() const { return wrong_.empty(); }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void make_products() {
    if (options_.policy == "cublas") cublas_.emplace(driver_);
    for (const std::int64_t m : rows_.all()) {
      for (std::size_t i = 0; i < std::size(kLayer); ++i) {
        const OperandSet& set = weights_[i]->set();
        Product p{.name = std::string(kLayer[i].name) + " m " + std::to_string(m),
                  .problem = problem_of(kLayer[i], m, options_.scale),
                  .operands = OperandPool::operands(set, 1, 0),
                  .workload = {},
                  .class_id = {},
                  .cublas = {}};
        p.workload = describe(p.problem, p.operands);
        p.class_id = class_bits(p.workload);
        if (cublas_) p.cublas = cublas_->default_gemm(p.workload, std::span(&set, 1), 1, 0).launch;
        products_[m].push_back(std::move(p));
      }
    }
  }

  /// Fills the results with what no product writes.
  void poison() {
    for (const auto& weight : weights_) weight->poison(stream_.get());
  }

  /// Compares the results of the last step, of `m` rows, with the exact ones.
  void compare(std::int64_t m) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Product& product = products_.at(m)[i];
      const std::string wrong = impl_of(*setup_).current().check_kernels().check(product.problem, weights_[i]->set(),
                                                                                 Weight::kSeed, 1, 0, stream_.get());
      ++checked_;
      if (!wrong.empty()) wrong_.push_back(product.name + ": " + wrong);
    }
  }

  void step(std::int64_t m) {
    TraceStep step{.start_s = seconds(), .m = m};
    preemptions_ = preemptions();
    const auto begin = Clock::now();
    begin_.record(stream_.get());
    for (const Product& product : products_.at(m)) step.host_us = std::max(step.host_us, call(product, step.start_s));
    end_.record(stream_.get());
    driver_.check(driver_.cuEventSynchronize(end_.get()), "wait for a step");
    step.gpu_us = elapsed_us(driver_, begin_, end_);
    steps_.push_back(step);
    busy_us_ += step.gpu_us;
    wait_until(begin + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double, std::micro>(step.gpu_us / options_.load)));
  }

  /// Sleeps, except for the last moments.
  static void wait_until(Clock::time_point end) {
    constexpr std::chrono::microseconds kSleepIsLate{150};
    if (end - Clock::now() > 2 * kSleepIsLate) std::this_thread::sleep_until(end - kSleepIsLate);
    while (Clock::now() < end) {
    }
  }

  /// The host time of the call.
  double call(const Product& product, double time_s) {
    const auto start = Clock::now();
    if (product.cublas) {
      product.cublas(stream_.get(), 0);
    } else {
      context_->gemm(stream_.get(), product.problem, product.operands);
    }
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    const bool is_first = met_.insert(product.class_id).second;
    (is_first ? first_us_ : later_us_).push_back(us);
    std::vector<SlowCall>& slow = is_first ? slow_first_ : slow_later_;
    if (slow.size() < kSlowCalls || us > slow.back().us) {
      slow.push_back({us, time_s, product.name, is_first, preemptions() != preemptions_});
      std::ranges::sort(slow, std::greater<>(), &SlowCall::us);
      if (slow.size() > kSlowCalls) slow.pop_back();
    }
    return us;
  }

  nlohmann::json host_report() const {
    const auto worst = [](const std::vector<SlowCall>& calls) {
      nlohmann::json all = nlohmann::json::array();
      for (const SlowCall& call : calls) all.push_back(call.json());
      return all;
    };
    const auto longest = [](const std::vector<double>& us) { return us.empty() ? 0 : std::ranges::max(us); };
    return {{"first_calls", first_us_.size()},
            {"later_calls", later_us_.size()},
            {"worst_us", std::max(longest(first_us_), longest(later_us_))},
            {"worst_first_us", longest(first_us_)},
            {"worst_later_us", longest(later_us_)},
            {"p50_us", quantile(later_us_, 0.5)},
            {"p99_us", quantile(later_us_, 0.99)},
            {"p9999_us", quantile(later_us_, 0.9999)},
            {"slowest_first", worst(slow_first_)},
            {"slowest_later", worst(slow_later_)}};
  }

  double speed_of_last_tenth(const StepTimes& reference) const {
    std::vector<TraceStep> last;
    for (const TraceStep& step : steps_) {
      if (step.start_s >= 0.9 * options_.seconds) last.push_back(step);
    }
    return last.empty() ? 0 : TraceSummary(last, reference).speed();
  }

  nlohmann::json stats_report() {
    if (options_.policy == "cublas") return nlohmann::json::object();
    const Stats stats = context_->stats();
    std::map<std::string, int> origins;
    std::set<ClassBits> seen;
    for (const auto& [m, products] : products_) {
      for (const Product& p : products) {
        if (!met_.contains(p.class_id) || !seen.insert(p.class_id).second) continue;
        ++origins[std::string(to_string(context_->plan(p.workload, Policy::estimate).origin()))];
      }
    }
    return {{"plans", stats.plans},       {"tuned", stats.tuned},         {"recorded", stats.recorded},
            {"nearest", stats.nearest},   {"estimated", stats.estimated}, {"compiled", stats.compiled},
            {"launches", stats.launches}, {"origins_at_end", origins}};
  }

  static constexpr std::size_t kSlowCalls = 10;
  static constexpr double kMostStepsPerSecond = 20'000;  // reading the weights takes 0.1 ms

  Options options_;
  const Driver& driver_;
  PrimaryContext primary_;
  OwnedStream stream_{driver_}, side_{driver_};
  OwnedEvent begin_{driver_}, end_{driver_};
  DeviceBuffer side_memory_{driver_, std::size_t{64} << 20};
  RowCounts rows_;
  std::optional<Context> setup_;  // for the kernels that fill, and of the second stream
  std::vector<std::unique_ptr<Weight>> weights_;
  std::optional<CublasBaseline> cublas_;
  std::map<std::int64_t, std::vector<Product>> products_;
  std::optional<Context> context_;

  Clock::time_point start_;
  std::vector<TraceStep> steps_;
  double busy_us_ = 0;
  std::set<ClassBits> met_;
  std::vector<double> first_us_, later_us_;
  std::vector<SlowCall> slow_first_, slow_later_;
  std::int64_t checked_ = 0;  // products whose every bit was compared
  std::vector<std::string> wrong_;
  long preemptions_ = 0;  // before this step
};

int run(const Options& options) {
  Trace trace(options);
  if (!options.list.empty()) {
    write_text(options.list, trace.problems());
    return 0;
  }
  trace.run();
  std::printf("%s\n", trace.report().dump().c_str());
  return trace.is_right() ? 0 : 2;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  try {
    return hotgemm::run(hotgemm::parse(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), hotgemm::kHelp);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
