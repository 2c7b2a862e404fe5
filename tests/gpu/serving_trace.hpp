#pragma once

#include "base/statistics.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm {

/// One pass through the four products of a layer.
struct TraceStep {
  double start_s = 0;  ///< since the start of the trace
  std::int64_t m = 0;
  double host_us = 0;  ///< of the call that took the host the longest
  double gpu_us = 0;   ///< from the beginning of the first product to the end of the last
};

/// Numbers of rows as a server has them: most steps decode, with the batch padded to a few sizes; some are chunks of
/// prompts; a few are of any size.
class RowCounts {
 public:
  explicit RowCounts(std::uint64_t seed, std::int64_t largest) : random_(seed) {
    for (const std::int64_t m : {1, 2, 4}) decode_.push_back(m);
    for (std::int64_t m = 8; m <= 256; m += 8) decode_.push_back(m);
    for (std::vector<std::int64_t>* sizes : {&decode_, &chunks_, &odd_}) {
      std::erase_if(*sizes, [&](std::int64_t m) { return m > largest; });
      if (sizes->empty()) *sizes = {largest};
    }
  }

  std::int64_t next() {
    const std::uint64_t kind = random_() % 100;
    const std::vector<std::int64_t>& sizes = kind < 88 ? decode_ : kind < 97 ? chunks_ : odd_;
    return sizes[random_() % sizes.size()];
  }
  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> every = decode_;
    every.insert(every.end(), chunks_.begin(), chunks_.end());
    every.insert(every.end(), odd_.begin(), odd_.end());
    std::ranges::sort(every);
    every.erase(std::unique(every.begin(), every.end()), every.end());
    return every;
  }

 private:
  std::mt19937_64 random_;
  std::vector<std::int64_t> decode_;
  std::vector<std::int64_t> chunks_{512, 512, 1024, 2048, 4096};
  std::vector<std::int64_t> odd_{3, 77, 190, 333, 1000, 1531, 3000};
};

/// The GPU time of a step by its number of rows, in microseconds.
using StepTimes = std::map<std::int64_t, double>;

inline std::map<std::int64_t, std::vector<double>> times_by_rows(const std::vector<TraceStep>& steps) {
  std::map<std::int64_t, std::vector<double>> times;
  for (const TraceStep& step : steps) times[step.m].push_back(step.gpu_us);
  return times;
}

inline StepTimes medians_of(const std::vector<TraceStep>& steps) {
  StepTimes medians;
  for (const auto& [m, us] : times_by_rows(steps)) medians[m] = median(us);
  return medians;
}

inline StepTimes read_step_times(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) throw std::runtime_error("cannot read " + path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  std::fclose(file);
  if (!json.is_object() || !json.contains("us")) throw std::runtime_error(path + " is not a reference of this program");
  StepTimes times;
  for (const auto& [m, us] : json["us"].items()) times[std::stoll(m)] = us.get<double>();
  return times;
}

inline void write_text(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !is_written) throw std::runtime_error("cannot write " + path);
}

inline void write_step_times(const std::string& path, const StepTimes& times) {
  nlohmann::json us = nlohmann::json::object();
  for (const auto& [m, time] : times) us[std::to_string(m)] = std::round(time * 1000) / 1000;
  write_text(path, nlohmann::json{{"us", us}}.dump() + "\n");
}

/// A row for each step, at most kRows of them: then every so many steps one, and all the steps with the slowest calls.
inline void write_steps(const std::string& path, const std::vector<TraceStep>& steps) {
  constexpr std::size_t kRows = 400'000, kSlowest = 1000;
  const std::size_t stride = steps.size() / kRows + 1;
  std::vector<double> host;
  for (const TraceStep& step : steps) host.push_back(step.host_us);
  std::ranges::sort(host, std::greater<>());
  const double slow_us = stride == 1 || host.empty() ? 0 : host[std::min(kSlowest, host.size() - 1)];
  std::string text = "time_s,m,host_us,gpu_us\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i % stride != 0 && steps[i].host_us < slow_us) continue;
    char line[96];
    std::snprintf(line, sizeof line, "%.6f,%lld,%.1f,%.2f\n", steps[i].start_s, static_cast<long long>(steps[i].m),
                  steps[i].host_us, steps[i].gpu_us);
    text += line;
  }
  write_text(path, text);
}

/// Numbers of a trace, with the reference's time of a step for each step's.
class TraceSummary {
 public:
  TraceSummary(const std::vector<TraceStep>& steps, const StepTimes& reference) : steps_(steps), reference_(reference) {
    for (const TraceStep& step : steps) {
      if (!reference.contains(step.m)) throw std::runtime_error("the reference has no m " + std::to_string(step.m));
    }
  }

  nlohmann::json by_rows() const {
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [m, us] : times_by_rows(steps_)) {
      all[std::to_string(m)] = {{"steps", us.size()},
                                {"p50_us", rounded(quantile(us, 0.5))},
                                {"p99_us", rounded(quantile(us, 0.99))},
                                {"reference_us", rounded(reference_.at(m))}};
    }
    return all;
  }
  /// Quantiles of each step's time over the reference's.
  nlohmann::json normalised() const {
    std::vector<double> ratios;
    for (const TraceStep& step : steps_) ratios.push_back(step.gpu_us / reference_.at(step.m));
    return {{"p50", rounded(quantile(ratios, 0.5))},
            {"p90", rounded(quantile(ratios, 0.9))},
            {"p99", rounded(quantile(ratios, 0.99))},
            {"p999", rounded(quantile(ratios, 0.999))}};
  }
  /// The reference's time for all steps over the time that they took.
  double speed() const { return speed_of(0, steps_.size()); }
  /// The speed of each second, and its slowest call.
  nlohmann::json windows() const {
    nlohmann::json time = nlohmann::json::array(), speed = time, host = time, count = time;
    for (std::size_t first = 0; first < steps_.size();) {
      const double begin_s = std::floor(steps_[first].start_s);
      std::size_t last = first;
      double worst_us = 0;
      for (; last < steps_.size() && steps_[last].start_s < begin_s + 1; ++last) {
        worst_us = std::max(worst_us, steps_[last].host_us);
      }
      time.push_back(begin_s);
      speed.push_back(rounded(speed_of(first, last)));
      host.push_back(rounded(worst_us));
      count.push_back(last - first);
      first = last;
    }
    return {{"start_s", time}, {"speed", speed}, {"worst_host_us", host}, {"steps", count}};
  }

 private:
  static double rounded(double value) { return std::round(value * 10'000) / 10'000; }
  double speed_of(std::size_t first, std::size_t last) const {
    double wanted_us = 0, taken_us = 0;
    for (std::size_t i = first; i < last; ++i) {
      wanted_us += reference_.at(steps_[i].m);
      taken_us += steps_[i].gpu_us;
    }
    return wanted_us / taken_us;
  }

  const std::vector<TraceStep>& steps_;
  const StepTimes& reference_;
};

}  // namespace hotgemm
