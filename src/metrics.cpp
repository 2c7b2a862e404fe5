#include "context_impl.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace hotgemm {
namespace {

/// `value` with nine digits. The decimal point does not depend on the locale.
std::string number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 9).ptr;
  return {text.data(), end};
}

/// Text in the format of Prometheus, version 0.0.4.
class MetricsText {
 public:
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    one(std::string(name) + "_total", help, "counter", std::to_string(value));
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    one(std::string(name), help, "gauge", std::to_string(value));
  }
  void histogram(std::string_view name, std::string_view help, const WaitTimes& times) {
    const std::string full = "hotgemm_" + std::string(name);
    head(full, help, "histogram");
    std::uint64_t below = 0;
    double bound_s = 1e-6;
    for (std::size_t i = 0; i + 1 < times.buckets.size(); ++i, bound_s *= 2) {
      below += times.buckets[i];
      text_ += full + "_bucket{le=\"" + number(bound_s) + "\"} " + std::to_string(below) + "\n";
    }
    text_ += full + "_bucket{le=\"+Inf\"} " + std::to_string(times.count) + "\n";
    text_ += full + "_sum " + number(times.total_s) + "\n" + full + "_count " + std::to_string(times.count) + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  void head(const std::string& name, std::string_view help, std::string_view type) {
    text_ += "# HELP " + name + " " + std::string(help) + "\n# TYPE " + name + " " + std::string(type) + "\n";
  }
  void one(const std::string& name, std::string_view help, std::string_view type, const std::string& value) {
    head("hotgemm_" + name, help, type);
    text_ += "hotgemm_" + name + " " + value + "\n";
  }

  std::string text_;
};

}  // namespace

std::string Context::records_digest() const { return impl_->engine().records_digest(); }

std::string Context::metrics() const {
  const Stats stats = impl_->stats();
  const CacheStat cache = impl_->engine().cache.counts();
  MetricsText text;
  text.counter("plans", "Problem classes planned.", stats.plans);
  text.counter("plans_tuned", "Plans measured, in a call or in the background.", stats.tuned);
  text.counter("plans_recorded", "Plans answered by an exact record.", stats.recorded);
  text.counter("plans_nearest", "Plans answered by the record of another class.", stats.nearest);
  text.counter("plans_estimated", "Plans answered by the model alone.", stats.estimated);
  text.counter("plans_evicted", "Plans pushed out by max_plans.", stats.evictions);
  text.gauge("plans_live", "Plans that are kept now.", stats.live_plans);
  text.counter("plans_exchanged", "Plans replaced by tuning in the background.", stats.exchanged);
  text.gauge("classes_waiting", "Classes that wait to be tuned in the background.", stats.waiting_classes);
  text.counter("launches", "Launches enqueued.", stats.launches);
  text.counter("calls_declined", "Calls that found no plan as they asked for, and did nothing.", stats.declined);
  text.counter("launches_without_workspace", "Launches that found no workspace.", stats.without_workspace);
  text.counter("kernels_compiled", "Kernels compiled, candidates included.", stats.compiled);
  text.counter("cubins_refused", "Cubins that the driver refused.", stats.refused_cubins);
  text.counter("cache_memory_hits", "Kernels found in memory.", cache.memory_hits);
  text.counter("cache_disk_hits", "Kernels found on disk.", cache.disk_hits);
  text.counter("cache_misses", "Looks for a kernel that found none; up to three for each kernel compiled.",
               cache.misses);
  text.histogram("planning_seconds", "Time to plan a class, with compiling and tuning.", stats.planning);
  text.histogram("compiling_seconds", "Time to compile a kernel that a plan needs.", stats.compiling);
  text.histogram("tuning_seconds", "Time to tune a class in a call.", stats.tuning);
  text.histogram("waiting_seconds", "Time that calls waited for a thread that planned the same class.", stats.waiting);
  return text.take();
}

}  // namespace hotgemm
