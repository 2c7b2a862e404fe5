#include "command/tune_list.hpp"

#include "command/gpu_query.hpp"
#include "command/shard_option.hpp"
#include "gpu/device.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"
#include "plan/shards.hpp"
#include "records/problem_fields.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace hotgemm::command {
namespace {

/// The GPU as records name it; the nominal one if the driver does not tell.
DeviceInfo device_of(int ordinal) {
  Session session;
  session.device = ordinal;
  return planned_device(session, "");
}

/// Every class that has a record of this GPU for the objective, in the order of the classes.
std::vector<Workload> recorded_problems(const Engine& engine, const GpuQuery& query) {
  std::map<std::string, Workload> problems;
  for (const Found& found : engine.database.all(query)) {
    const TuningRecord& r = found.record;
    const Environment& here = query.environment;
    if (r.environment.gpu != here.gpu || r.environment.sm_count != here.sm_count) continue;
    if (r.objective == query.objective) problems.try_emplace(class_text(r.problem), r.problem);
  }
  std::vector<Workload> result;
  for (auto& [text, problem] : problems) result.push_back(std::move(problem));
  return result;
}

bool has_stale_record(const Engine& engine, const GpuQuery& query, const Workload& problem) {
  const std::optional<Found> found = engine.database.find(problem, query);
  return found && found->freshness == Freshness::stale;
}

/// One entry for each class: its calls together, and the problem that was called most.
std::vector<Shape> by_class(const std::vector<Shape>& shapes) {
  std::vector<Shape> classes;
  std::vector<std::int64_t> most;
  std::map<std::string, std::size_t> index;
  for (const Shape& shape : shapes) {
    const auto [place, is_new] = index.try_emplace(class_text(shape.workload), classes.size());
    if (is_new) {
      classes.push_back(shape);
      most.push_back(shape.count);
      continue;
    }
    Shape& one = classes[place->second];
    one.count += shape.count;
    if (shape.count <= most[place->second]) continue;
    most[place->second] = shape.count;
    one.workload = shape.workload;
    one.us = shape.us;
  }
  return classes;
}

double expected_us(const Shape& shape, const Engine& engine, const GpuQuery& query, const DeviceInfo& device) {
  if (const std::optional<Found> found = engine.database.find(shape.workload, query)) {
    return found->record.timing.median_us;
  }
  if (shape.us > 0) return shape.us;
  const std::vector<Prediction> predictions =
      predict(anchors(shape.workload, arch_limits(device.arch)), shape.workload, device);
  return predictions.empty() ? 0 : predictions.front().us;
}

/// `problems` with those first on which the program spent the most time.
std::vector<Workload> by_time(const std::vector<Workload>& problems, const std::vector<Shape>& shapes,
                              const Engine& engine, const GpuQuery& query, const DeviceInfo& device) {
  std::map<std::string, double> spent;
  for (const Shape& shape : shapes) {
    spent[to_string(shape.workload)] = static_cast<double>(shape.count) * expected_us(shape, engine, query, device);
  }
  std::vector<Workload> ordered = problems;
  std::ranges::stable_sort(ordered, std::greater(), [&](const Workload& p) { return spent.at(to_string(p)); });
  return ordered;
}

}  // namespace

TuneList make_tune_list(Session& session, const TuneListOptions& options, Engine& engine, int ordinal) {
  std::vector<Shape> shapes = read_shapes(options.problems);
  const bool has_counts = std::ranges::any_of(shapes, [](const Shape& shape) { return shape.count != 1; });
  if (has_counts) shapes = by_class(shapes);
  std::vector<Workload> all;
  for (const Shape& shape : shapes) all.push_back(shape.workload);
  if (all.empty() && !options.only_stale) require(all);

  GpuQuery query;
  DeviceInfo device;
  if (has_counts || options.only_stale) {
    device = device_of(ordinal);
    query = query_of(engine, ordinal);
    query.environment.arch = device.arch;
    query.environment.sm_count = device.sm_count;
  }
  if (all.empty()) all = recorded_problems(engine, query);
  // The shares come first: other processes may change what is stale, but not the list.
  TuneList list;
  list.listed = take_share(session, options.shard, all, tuning_seconds);
  list.problems = list.listed;
  if (options.only_stale) {
    std::erase_if(list.problems, [&](const Workload& p) { return !has_stale_record(engine, query, p); });
    session.note(
        fmt::format("hotgemm: {} of {} problems have a stale record", list.problems.size(), list.listed.size()));
  }
  if (has_counts) list.problems = by_time(list.problems, shapes, engine, query, device);
  return list;
}

}  // namespace hotgemm::command
