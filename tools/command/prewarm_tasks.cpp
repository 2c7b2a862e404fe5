#include "command/prewarm_tasks.hpp"

#include "command/arch_option.hpp"

#include "config/class_key.hpp"
#include "config/device_info.hpp"
#include "config/m_range.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

namespace hotgemm::command {
namespace {

/// The tasks, each once.
class TaskList {
 public:
  explicit TaskList(std::optional<MRange> range) : range_(range) {}

  /// Adds `problem`, or with --m-buckets the same in each bucket.
  void add(const Workload& problem, const std::string& arch) {
    for (const Workload& one : range_ ? in_buckets(problem, *range_) : std::vector{problem}) add_one(one, arch);
  }
  /// Adds the class of `problem`, unless a problem of the class is there.
  void add_class(const Workload& problem, const std::string& arch) {
    const Workload whole = workload_of(class_key(problem));
    if (!seen_.contains(arch + " " + to_string(whole))) add(whole, arch);
  }
  const std::vector<PrewarmTask>& tasks() const { return tasks_; }

 private:
  void add_one(const Workload& problem, const std::string& arch) {
    if (!seen_.insert(arch + ": " + to_string(problem)).second) return;
    seen_.insert(arch + " " + to_string(workload_of(class_key(problem))));
    tasks_.push_back({problem, arch});
  }

  std::optional<MRange> range_;
  std::set<std::string> seen_;  ///< problems after "ARCH: ", classes after "ARCH "
  std::vector<PrewarmTask> tasks_;
};

std::optional<MRange> range_of(const PrewarmSelection& selection) {
  if (selection.m_buckets.empty()) return std::nullopt;
  return parse_option("--m-buckets", [&] { return parse_m_range(selection.m_buckets); });
}

void add_records(TaskList& list, const PrewarmSelection& selection, const Database& records) {
  for (const Found& found : records.all()) {
    const TuningRecord& record = found.record;
    if (selection.archs.empty()) list.add_class(record.problem, record.environment.arch);
    for (const std::string& arch : selection.archs) list.add_class(record.problem, arch);
  }
}

}  // namespace

void add_selection_options(CLI::App& app, const Session& session, PrewarmSelection& selection) {
  add_problem_options(app, selection.problems);
  add_function_option(app, selection.problems);
  app.option_defaults()->group("What is compiled");
  add_arch_option(
      app, session, selection.archs,
      "architectures to compile for, as in sm_80,sm_89,sm_90a or native; with --from-db the default is, for "
      "each class, those of its records");
  app.add_flag("--from-db", selection.from_db, "also every problem class in the tuning records, of all layers");
  app.add_option("--m-buckets", selection.m_buckets,
                 "FIRST:LAST, as in 1:4096: in place of its own m, every problem gets each bucket of m in this range")
      ->type_name("RANGE");
  app.add_flag("--candidates", selection.candidates,
               "also compile the twenty kernels that a tuning within a call would try");
  app.add_flag("--all", selection.all,
               "--from-db and --candidates: all that calls and tuning of the given problems and of the recorded "
               "classes compile");
}

bool is_empty(const PrewarmSelection& selection) {
  const ProblemOptions& given = selection.problems;
  return given.shapes.empty() && given.shape_files.empty() && !selection.from_db && !selection.all;
}

std::vector<PrewarmTask> tasks_of(const PrewarmSelection& selection, const Database& records) {
  for (std::size_t i = 0; i < selection.archs.size(); ++i) {
    const auto first = std::ranges::find(selection.archs, selection.archs[i]) - selection.archs.begin();
    if (static_cast<std::size_t>(first) == i) continue;
    throw Error(ErrorCode::invalid_argument, "--arch names " + selection.archs[i] + " twice");
  }
  const bool uses_records = selection.from_db || selection.all;
  const std::vector<Workload> problems = read_problems(selection.problems);
  if (!uses_records) require(problems);
  if (selection.archs.empty() && (!uses_records || !problems.empty())) {
    throw Error(ErrorCode::invalid_argument, "--arch is missing: without it, only the problems of --from-db have some");
  }
  TaskList list(range_of(selection));
  for (const std::string& arch : selection.archs) {
    for (const Workload& problem : problems) list.add(problem, arch);
  }
  if (uses_records) add_records(list, selection, records);
  if (list.tasks().empty()) throw Error(ErrorCode::invalid_argument, "--from-db: no layer holds a record");
  return list.tasks();
}

}  // namespace hotgemm::command
