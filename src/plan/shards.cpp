#include "plan/shards.hpp"

#include "config/work.hpp"
#include "records/problem_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>

namespace hotgemm {
namespace {

// A round number each: what matters is that small problems cost about the same, and large ones up to five times that.
constexpr double kCompileSeconds = 3;
constexpr double kMostMeasuringSeconds = 12;
constexpr double kLaunches = 4000;
constexpr double kFlops = 4e14;  // a second
constexpr double kBytes = 2e12;  // a second
constexpr double kLaunchSeconds = 3e-6;

}  // namespace

std::vector<int> shards_of(std::span<const double> costs, std::span<const std::string> names, int count) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(
      order, [&](std::size_t a, std::size_t b) { return std::tie(costs[b], names[a]) < std::tie(costs[a], names[b]); });
  std::vector<double> loads(static_cast<std::size_t>(count));
  std::vector<int> shards(costs.size());
  for (const std::size_t item : order) {
    const auto least = std::ranges::min_element(loads);
    shards[item] = static_cast<int>(least - loads.begin());
    *least += costs[item];
  }
  return shards;
}

double tuning_seconds(const Workload& asked) {
  const Workload problem = with_uniform_groups(asked);
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n), k = static_cast<double>(problem.k);
  const double bytes =
      m * k * size_bytes(problem.types.a) + k * n * size_bytes(problem.types.b) + m * n * size_bytes(problem.types.d);
  const double launch =
      kLaunchSeconds + std::max(flops(problem) / kFlops, static_cast<double>(problem.batch) * bytes / kBytes);
  return kCompileSeconds + std::min(kMostMeasuringSeconds, kLaunches * launch);
}

std::vector<Workload> share_of(std::span<const Workload> problems, int index, int count,
                               const std::function<double(const Workload&)>& cost) {
  std::map<std::string, double> costs;  // by class: of its most expensive problem
  for (const Workload& problem : problems) {
    const auto [place, is_new] = costs.try_emplace(class_text(problem), cost(problem));
    if (!is_new) place->second = std::max(place->second, cost(problem));
  }
  std::vector<std::string> names;
  std::vector<double> values;
  for (const auto& [name, value] : costs) {
    names.push_back(name);
    values.push_back(value);
  }
  const std::vector<int> shards = shards_of(values, names, count);
  std::vector<Workload> share;
  for (const Workload& problem : problems) {
    const auto place = std::ranges::lower_bound(names, class_text(problem));
    if (shards[static_cast<std::size_t>(place - names.begin())] == index) share.push_back(problem);
  }
  return share;
}

}  // namespace hotgemm
