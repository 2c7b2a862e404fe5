#include "command/commands.hpp"
#include "command/compile_jobs.hpp"
#include "command/problem_options.hpp"
#include "command/progress.hpp"
#include "command/shard_option.hpp"
#include "command/table.hpp"
#include "config/prepacked.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

namespace hotgemm::command {
namespace {

struct PrewarmCommand {
  ProblemOptions problems;
  std::string shard;
  std::vector<std::string> archs;
  int jobs = 0;
  bool candidates = false;
  bool list = false;
  bool report = false;
};

bool has_kernel(const Workload& problem, const std::string& arch) {
  return !anchors(problem, arch_limits(arch)).empty();
}

/// Prewarms one architecture. A problem that no kernel computes there becomes a failed entry; the others are built.
PrewarmReport prewarm_arch(Context& context, const PrewarmCommand& command, const std::vector<Workload>& problems,
                           const std::string& arch, int jobs, Progress& progress) {
  std::vector<Workload> supported;
  std::vector<PrewarmEntry> unsupported;
  for (const Workload& problem : problems) {
    if (has_kernel(problem, arch)) {
      supported.push_back(problem);
    } else {
      unsupported.push_back({.problem = problem, .arch = arch, .failure = "no kernel computes it on " + arch});
    }
  }
  PrewarmOptions options{.archs = {arch}, .jobs = jobs, .candidates = command.candidates, .progress = {}};
  options.progress = [&progress](std::size_t done, std::size_t total) {
    progress.update(done, total);
    return !is_interrupted();
  };
  PrewarmReport report = context.prewarm(supported, options);
  report.failed += unsupported.size();
  report.entries.insert(report.entries.end(), unsupported.begin(), unsupported.end());
  return report;
}

PrewarmReport prewarm_all(Context& context, const Session& session, const PrewarmCommand& command,
                          const std::vector<Workload>& problems) {
  PrewarmReport total;
  const int jobs = jobs_or_default(command.jobs);
  use_workers_for(impl_of(context).engine(), jobs);
  for (const std::string& arch : command.archs) {
    if (is_interrupted()) break;
    Progress progress("compile for " + arch, session.quiet);
    PrewarmReport report = prewarm_arch(context, command, problems, arch, jobs, progress);
    total.compiled += report.compiled;
    total.cached += report.cached;
    total.failed += report.failed;
    total.entries.insert(total.entries.end(), report.entries.begin(), report.entries.end());
  }
  return total;
}

Json entry_json(const PrewarmEntry& entry) {
  Json json{{"problem", to_string(entry.problem)},
            {"arch", entry.arch},
            {"config", entry.config},
            {"origin", to_string(entry.origin)},
            {"from_cache", entry.from_cache}};
  if (!entry.failure.empty()) {
    json["failure"] = entry.failure;
    return json;
  }
  json["registers"] = entry.resources.registers;
  json["spill_bytes"] = entry.resources.spill_bytes;
  json["smem_bytes"] = entry.resources.smem_bytes;
  json["threads"] = entry.resources.threads;
  json["compile_ms"] = entry.resources.compile_ms;
  return json;
}

void print_entries(const Session& session, const PrewarmReport& report) {
  Table table({{"problem"},
               {"arch"},
               {"pick"},
               {"origin"},
               {"registers", true},
               {"spills", true},
               {"smem", true},
               {"compile ms", true}});
  for (const PrewarmEntry& e : report.entries) {
    if (!e.failure.empty()) continue;
    table.add({label(e.problem), e.arch, e.config, std::string(to_string(e.origin)),
               std::to_string(e.resources.registers), std::to_string(e.resources.spill_bytes),
               std::to_string(e.resources.smem_bytes), e.from_cache ? "cached" : number(e.resources.compile_ms, 0)});
  }
  if (!table.empty()) session.print(table.text());
}

int build(Session& session, const PrewarmCommand& command, const std::vector<Workload>& problems) {
  Context context(context_options(session));
  const PrewarmReport report = prewarm_all(context, session, command, problems);
  session.output["compiled"] = report.compiled;
  session.output["cached"] = report.cached;
  session.output["failed"] = report.failed;
  session.output["entries"] = Json::array();
  for (const PrewarmEntry& entry : report.entries) session.output["entries"].push_back(entry_json(entry));
  if (command.report) print_entries(session, report);
  session.print(
      fmt::format("{} kernels compiled, {} already cached, {} failed", report.compiled, report.cached, report.failed));
  if (is_interrupted()) {
    session.note("hotgemm: interrupted; the compiled kernels are kept");
    return kInterrupted;
  }
  if (report.failed == 0) return kGood;
  const auto has_no_kernel = [](const PrewarmEntry& e) { return e.config.empty(); };
  if (std::ranges::count_if(report.entries, has_no_kernel) < static_cast<std::ptrdiff_t>(report.failed))
    explain_failed_builds();
  for (const PrewarmEntry& e : report.entries) {
    if (e.failure.empty()) continue;
    fmt::print(stderr, "hotgemm: {}{}{} on {}: {}\n", e.config, e.config.empty() ? "" : " for ", label(e.problem),
               e.arch, e.failure);
  }
  return kSomeFailed;
}

/// The output of --list: one line per kernel, problem and architecture.
class Listing {
 public:
  explicit Listing(Engine& engine) : engine_(engine) {}

  void add(const Workload& problem, const std::string& arch, bool with_candidates) {
    std::set<std::string> seen;
    const std::vector<Environment> known = known_environments(arch, engine_.database);
    for (const Environment& environment : environments_for(problem, known)) {
      const std::optional<Choice> choice = choice_of(problem, arch, environment);
      if (!choice) continue;
      if (seen.insert(to_string(choice->config)).second) row(problem, arch, choice->config, to_string(choice->origin));
      const bool copies = repacks(choice->launch) || is_prepacked(problem);
      if (copies && seen.insert("repack").second) repack(problem, arch);
    }
    if (!with_candidates) return;
    for (const Candidate& c : candidates_if_any(problem, nominal_device(arch), TuneOptions{}.max_candidates)) {
      if (seen.insert(to_string(c.config)).second) row(problem, arch, c.config, "candidate");
    }
  }
  void add_unsupported(const Workload& problem, const std::string& arch) {
    table_.add({label(problem), arch, "-", "no kernel computes it", "-"});
    json_.push_back({{"problem", to_string(problem)}, {"arch", arch}, {"failure", "no kernel computes it on " + arch}});
  }

  std::string text() const { return table_.text(); }
  const Json& json() const { return json_; }
  std::size_t missing() const { return missing_.size(); }

 private:
  /// Nothing if no kernel stays within the problem's SM limit on such a GPU.
  std::optional<Choice> choice_of(const Workload& problem, const std::string& arch, const Environment& environment) {
    try {
      return choose(problem, arch, engine_.database, engine_.query(environment)).front();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_supported || problem.sm_limit == 0) throw;
      return std::nullopt;
    }
  }
  void row(const Workload& problem, const std::string& arch, const KernelConfig& config, std::string_view origin) {
    row(problem, arch, to_string(config), origin,
        render(config, traits_of(repacked(problem, config)), arch, engine_.bundle));
  }
  /// The kernel that copies operands for others, which all problems share.
  void repack(const Workload& problem, const std::string& arch) {
    row(problem, arch, "repack", "copies operands", render_repack(arch, engine_.bundle));
  }
  void row(const Workload& problem, const std::string& arch, const std::string& name, std::string_view origin,
           const KernelSource& source) {
    const bool is_cached = engine_.builder.find(source).has_value();
    if (!is_cached) missing_.insert(source.identity.hex());
    table_.add({label(problem), arch, name, std::string(origin), is_cached ? "yes" : "no"});
    json_.push_back(
        {{"problem", to_string(problem)}, {"arch", arch}, {"config", name}, {"origin", origin}, {"cached", is_cached}});
  }

  Engine& engine_;
  Table table_{{{"problem"}, {"arch"}, {"kernel"}, {"origin"}, {"cached"}}};
  Json json_ = Json::array();
  std::set<std::string> missing_;
};

int list(Session& session, const PrewarmCommand& command, const std::vector<Workload>& problems) {
  Context context(context_options(session));
  Listing listing(impl_of(context).engine());
  int exit_code = kGood;
  for (const std::string& arch : command.archs) {
    for (const Workload& problem : problems) {
      if (has_kernel(problem, arch)) {
        listing.add(problem, arch, command.candidates);
      } else {
        listing.add_unsupported(problem, arch);
        exit_code = kSomeFailed;
      }
    }
  }
  session.output["to_compile"] = listing.missing();
  session.output["entries"] = listing.json();
  session.print(listing.text());
  session.print(fmt::format("{} kernels would be compiled", listing.missing()));
  return exit_code;
}

int run_prewarm(Session& session, const PrewarmCommand& command) {
  for (const std::string& arch : command.archs) arch_limits(arch);  // throws for an unknown architecture
  const std::vector<Workload> problems =
      take_share(session, command.shard, require_problems(command.problems), [](const Workload&) { return 1.0; });
  return command.list ? list(session, command, problems) : build(session, command, problems);
}

}  // namespace

void add_prewarm_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<PrewarmCommand>();
  CLI::App& sub = add_subcommand(app, session, "prewarm",
                                 "compile, without a GPU, the kernels that problems need, so that a later run with "
                                 "policy cached_only compiles nothing",
                                 [&session, command] { return run_prewarm(session, *command); });
  add_problem_options(sub, command->problems);
  add_shard_option(sub, command->shard);
  sub.add_option("--arch", command->archs, "architectures to compile for, as in sm_80,sm_89,sm_90a")
      ->required()
      ->delimiter(',');
  add_jobs_option(sub, command->jobs);
  sub.add_flag("--candidates", command->candidates, "also compile the kernels that the tuner would try");
  sub.add_flag("--report", command->report, "print a table with a row per problem and architecture");
  sub.add_flag("--list", command->list, "list what would be compiled, and compile nothing");
}

}  // namespace hotgemm::command
