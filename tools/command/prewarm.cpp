#include "cache/cache_directory.hpp"
#include "cache/shared_layer.hpp"
#include "command/commands.hpp"
#include "command/compile_jobs.hpp"
#include "command/kernel_bundle.hpp"
#include "command/output_file.hpp"
#include "command/prewarm_listing.hpp"
#include "command/prewarm_tasks.hpp"
#include "command/progress.hpp"
#include "command/shard_option.hpp"
#include "command/table.hpp"
#include "context_impl.hpp"
#include "prewarm_run.hpp"
#include "records/database_files.hpp"
#include "records/record_text.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace hotgemm::command {
namespace {

struct PrewarmCommand {
  PrewarmSelection selection;
  std::string shard;
  int jobs = 0;
  bool list = false;
  bool verify = false;
  bool report = false;
  bool fail_on_miss = false;
  std::string layer;
  std::string export_file;
  std::string import_file;
  std::vector<const CLI::Option*> of_problems;  ///< mean nothing without problems

  bool with_candidates() const { return selection.candidates || selection.all; }
};

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

Json report_json(const PrewarmReport& report) {
  Json json{{"compiled", report.compiled}, {"cached", report.cached},           {"failed", report.failed},
            {"stored", report.stored},     {"not_started", report.not_started}, {"interrupted", report.interrupted}};
  if (!report.store_failure.empty()) json["store_failure"] = report.store_failure;
  json["results"] = Json::array();
  for (const PrewarmEntry& entry : report.entries) json["results"].push_back(entry_json(entry));
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

void print_failures(const PrewarmReport& report) {
  for (const PrewarmEntry& e : report.entries) {
    if (e.failure.empty() || (report.interrupted && e.failure == kInterruptedBuild)) continue;
    print_err("hotgemm: {}{}{} on {}: {}\n", e.config, e.config.empty() ? "" : " for ", label(e.problem), e.arch,
              e.failure);
  }
}

/// The problems that no kernel computes.
std::size_t unsupported(const PrewarmReport& report) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.entries, [](const PrewarmEntry& e) { return e.config.empty(); }));
}

/// Kernels that were compiled or found, and that a later process does not find.
std::size_t not_stored(const PrewarmReport& report) { return report.compiled + report.cached - report.stored; }

std::string summary(const PrewarmReport& report, const std::string& directory) {
  std::string text =
      fmt::format("{} kernels compiled, {} already cached, {} failed", report.compiled, report.cached, report.failed);
  if (report.not_started > 0) text += fmt::format(", {} not started", report.not_started);
  if (not_stored(report) > 0) text += fmt::format(", {} NOT STORED in {}", not_stored(report), directory);
  return text;
}

int exit_code_of_build(const Session& session, const PrewarmCommand& command, const PrewarmReport& report) {
  if (report.interrupted) {
    session.note("hotgemm: interrupted; the compiled kernels are kept");
    return kInterrupted;
  }
  if (not_stored(report) > 0) {
    const std::string& reason = report.store_failure;
    print_err("hotgemm: {} kernels were not stored: {}\n", not_stored(report),
              reason.empty() ? "something has removed them" : reason);
    return kEnvironment;
  }
  if (report.failed > 0) return kSomeFailed;
  if (command.fail_on_miss && report.compiled > 0) {
    print_err("hotgemm: {} kernels were not in the cache, and were compiled\n", report.compiled);
    return kEnvironment;
  }
  return kGood;
}

PrewarmRunOptions run_options(const PrewarmCommand& command, Progress& planning, Progress& progress) {
  return {.unsupported = PrewarmRunOptions::Unsupported::is_an_entry,
          .jobs = jobs_or_default(command.jobs),
          .candidates = command.with_candidates(),
          .looks_only = command.verify,
          .fills_layer = !command.layer.empty(),
          .planning =
              [&planning](std::size_t done, std::size_t total) {
                done < total ? planning.update(done, total) : planning.end();
                return !is_interrupted();
              },
          .progress =
              [&progress](std::size_t done, std::size_t total, const std::string& kernel) {
                progress.update(done, total, kernel);
                return !is_interrupted();
              }};
}

CacheMode mode_of(const ContextOptions& options) {
  return BinaryCacheOptions::from_environment().with(options.cache).mode;
}

/// Throws Error{io_error} if a record that lies in the layer does not count: the kernels would fit other picks.
void require_records(const std::filesystem::path& layer, bool trust_shared) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::io_error, fmt::format("the layer {} is not usable: {}", layer.string(), why));
  };
  for (const DatabaseFile& file : read_only_layer(layer, {.owner = {}, .trust_shared = trust_shared}, refuse)) {
    for_each_line(file.text(), [&](std::string_view line, std::size_t number, bool) {
      const ParsedLine parsed = parse_line(line);
      if (parsed.fault != LineFault::unusable) return;
      refuse(fmt::format("{}:{} is no record: {}; `hotgemm db lint` lists all such lines", file.path.string(), number,
                         parsed.reason));
    });
  }
}

/// The options for --layer: its directory is the user's layer. It is also a layer below that, as it will be for those
/// who use it, so that the records in it count. Its size has no limit.
ContextOptions layer_options(const Session& session, const std::filesystem::path& layer) {
  if (layer.string().find(':') != std::string::npos) {
    throw Error(ErrorCode::invalid_argument, "--layer: HOTGEMM_CACHE_PATH cannot name a directory with a colon");
  }
  ContextOptions options = context_options(session);
  options.cache_directory = layer.string();
  options.cache.max_bytes = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::string> layers{layer.string()};
  for (const auto& lower : BinaryCacheOptions::from_environment().read_only_layers) layers.push_back(lower.string());
  options.cache.read_only_layers = std::move(layers);
  if (mode_of(options) == CacheMode::read_write) {
    make_shared_layer(layer);
    let_all_read(layer);  // before records are read: those that others may write to would be left out
  }
  require_records(layer, BinaryCacheOptions::from_environment().with(options.cache).trust_shared);
  return options;
}

void finish_layer(Session& session, const std::filesystem::path& layer, const ContextOptions& options,
                  bool is_complete) {
  if (mode_of(options) != CacheMode::read_write) return;
  let_all_read(layer);
  if (!is_complete) {
    session.note("hotgemm: the layer " + layer.string() + " is not complete");
    return;
  }
  session.output["use"] = "HOTGEMM_CACHE_PATH=" + layer.string();
  session.print("use it with HOTGEMM_CACHE_PATH=" + layer.string() +
                "; it must belong to root or to the user who runs the program");
}

/// Under any mode but rw nothing is stored: import_kernels then only finds that all kernels are cached.
void import_bundle(Session& session, Engine& engine, CacheMode mode, const std::string& file) {
  Json imported = Json::object();
  const std::map<std::string, std::size_t> of_arch = import_kernels(engine.cache, file);
  for (const auto& [arch, kernels] : of_arch) {
    if (mode != CacheMode::read_write) {
      session.print(
          fmt::format("{} kernels of {} for {} are in the cache already, and nothing is stored (HOTGEMM_CACHE={})",
                      kernels, file, arch, to_string(mode)));
      continue;
    }
    imported[arch] = kernels;
    session.print(fmt::format("{} kernels for {} imported from {}", kernels, arch, file));
  }
  if (of_arch.empty()) session.print(fmt::format("0 kernels imported from {}", file));
  session.output["imported"] = imported;
}

/// Writes the bundle if it would be complete.
void export_bundle(Session& session, Engine& engine, const PrewarmRunResult& result,
                   const std::filesystem::path& file) {
  const PrewarmReport& report = result.report;
  if (report.interrupted || report.failed > 0) {
    session.note("hotgemm: " + file.string() + " is not written, because kernels are missing");
    return;
  }
  session.output["exported"] = export_kernels(engine.cache, result.kernels, file);
  session.print(fmt::format("{} kernels exported to {}", result.kernels.size(), file.string()));
}

/// This process takes its share of these tasks: whole problems, on all of their architectures.
std::vector<PrewarmTask> own_tasks(Session& session, const PrewarmCommand& command, const Database& records) {
  std::vector<PrewarmTask> tasks = tasks_of(command.selection, records);
  std::vector<Workload> problems;
  std::set<std::string> names;
  for (const PrewarmTask& task : tasks) {
    if (names.insert(to_string(task.problem)).second) problems.push_back(task.problem);
  }
  names.clear();
  for (const Workload& own : take_share(session, command.shard, problems, [](const Workload&) { return 1.0; })) {
    names.insert(to_string(own));
  }
  std::erase_if(tasks, [&](const PrewarmTask& task) { return !names.contains(to_string(task.problem)); });
  return tasks;
}

int build_tasks(Session& session, const PrewarmCommand& command, Engine& engine) {
  const bool is_exported = !command.export_file.empty();
  const std::filesystem::path bundle = is_exported ? output_file(command.export_file) : std::filesystem::path();
  const std::vector<PrewarmTask> tasks = own_tasks(session, command, engine.database);
  watch_for_interrupt();
  Progress planning("plan", session.quiet), progress("compile", session.quiet);
  const PrewarmRunOptions options = run_options(command, planning, progress);
  use_workers_for(engine, options.jobs);
  const PrewarmRunResult result = prewarm(engine, tasks, options);
  const PrewarmReport& report = result.report;
  progress.end();
  session.output.update(report_json(report));
  session.output["directory"] = engine.cache.wanted_directory().string();
  if (command.report) print_entries(session, report);
  session.print(summary(report, engine.cache.wanted_directory().string()));
  if (is_exported) export_bundle(session, engine, result, bundle);
  if (report.failed > unsupported(report) && !report.interrupted) explain_failed_builds();
  print_failures(report);
  return exit_code_of_build(session, command, report);
}

int build(Session& session, const PrewarmCommand& command) {
  const bool is_import_all = !command.import_file.empty() && is_empty(command.selection);
  for (const CLI::Option* option : command.of_problems) {
    if (!is_import_all || option->count() == 0) continue;
    throw Error(ErrorCode::invalid_argument,
                option->get_name() + " with --import needs problems: --shape, --shapes or --from-db");
  }
  const std::filesystem::path layer = command.layer.empty() ? std::filesystem::path() : clean_path(command.layer);
  const ContextOptions options = layer.empty() ? context_options(session) : layer_options(session, layer);
  Context context(options);
  Engine& engine = impl_of(context).engine();
  add_functions(command.selection.problems, engine.bundle);
  if (!command.import_file.empty()) import_bundle(session, engine, mode_of(options), command.import_file);
  const int exit_code = is_import_all ? kGood : build_tasks(session, command, engine);
  if (!layer.empty()) finish_layer(session, layer, options, exit_code == kGood);
  return exit_code;
}

/// Looks for every kernel on disk, and compiles and changes nothing.
int verify(Session& session, const PrewarmCommand& command) {
  require_cache_directory(session);
  ContextOptions context = context_options(session);
  if (mode_of(context) == CacheMode::read_write) context.cache.mode = CacheMode::read_only;
  Context opened(context);
  Engine& engine = impl_of(opened).engine();
  add_functions(command.selection.problems, engine.bundle);
  const std::vector<PrewarmTask> tasks = own_tasks(session, command, engine.database);
  watch_for_interrupt();
  Progress planning("plan", session.quiet), progress("verify", session.quiet);
  const PrewarmReport report = prewarm(engine, tasks, run_options(command, planning, progress)).report;
  progress.end();
  session.output.update(report_json(report));
  session.output["directory"] = engine.cache.wanted_directory().string();
  if (command.report) print_entries(session, report);
  print_failures(report);
  const std::size_t missing = report.failed - unsupported(report);
  session.print(fmt::format("{} kernels are in the cache and whole, {} are missing{}", report.cached, missing,
                            report.not_started > 0 ? fmt::format(", {} not looked for", report.not_started) : ""));
  if (report.interrupted) return kInterrupted;
  if (missing > 0) return kEnvironment;
  return report.failed == 0 ? kGood : kSomeFailed;
}

int list(Session& session, const PrewarmCommand& command) {
  Context context(context_options(session));
  Engine& engine = impl_of(context).engine();
  add_functions(command.selection.problems, engine.bundle);
  PrewarmListing listing(engine);
  bool is_supported = true;
  for (const PrewarmTask& task : own_tasks(session, command, engine.database)) {
    if (!listing.add(task, command.with_candidates())) is_supported = false;
  }
  session.output["to_compile"] = listing.missing();
  session.output["results"] = listing.json();
  session.print(listing.text());
  session.print(fmt::format("{} kernels would be compiled", listing.missing()));
  if (command.fail_on_miss && listing.missing() > 0) return kEnvironment;
  return is_supported ? kGood : kSomeFailed;
}

int run_prewarm(Session& session, const PrewarmCommand& command) {
  if (command.list) {
    session.schema = "prewarm-list";
    return list(session, command);
  }
  return command.verify ? verify(session, command) : build(session, command);
}

}  // namespace

void add_prewarm_command(CLI::App& app, Session& session) {
  const auto command = std::make_shared<PrewarmCommand>();
  CLI::App& sub = add_subcommand(app, session, "prewarm",
                                 "compile, without a GPU, the kernels that problems need, so that a later run with "
                                 "policy cached_only compiles nothing; exits with 3 if a kernel was not stored on disk",
                                 [&session, command] { return run_prewarm(session, *command); });
  add_selection_options(sub, session, command->selection);
  sub.option_defaults()->group("Problems");
  add_shard_option(sub, command->shard);
  sub.option_defaults()->group("What is done");
  add_jobs_option(sub, command->jobs);
  CLI::Option* list_flag = sub.add_flag("--list", command->list, "list what would be compiled, and compile nothing");
  CLI::Option* verify_flag =
      sub.add_flag("--verify", command->verify,
                   "check that every kernel is in the cache and whole; compiles and changes nothing; exits with 3 if "
                   "one is missing")
          ->excludes(list_flag);
  sub.add_flag("--report", command->report, "print a table with a row per problem and architecture")
      ->excludes(list_flag);
  sub.add_flag("--fail-on-miss", command->fail_on_miss,
               "exit with 3 if a kernel was not in the cache, also if it was compiled now; with --list too");
  sub.add_option(
         "--layer", command->layer,
         "write to this directory a layer that is complete and that all users can read, for HOTGEMM_CACHE_PATH; "
         "takes the records in it and in the layers below it, not the user's; exits with 3 if a record in it does not "
         "count")
      ->type_name("DIR")
      ->excludes("--cache-dir")
      ->excludes(list_flag)
      ->excludes(verify_flag);
  sub.add_option("--export", command->export_file,
                 "also write the kernels to this bundle: a tar archive with a manifest of identities and hashes")
      ->type_name("FILE")
      ->excludes("--shard")
      ->excludes(list_flag)
      ->excludes(verify_flag);
  sub.add_option(
         "--import", command->import_file,
         "first store the kernels of this bundle, or none if one is not what the manifest says; no problem need "
         "be given. Import only what comes from somebody you trust")
      ->type_name("FILE")
      ->excludes(list_flag)
      ->excludes(verify_flag);
  for (const char* name : {"--arch", "--layout", "--dtype", "--acc", "--align", "--beta", "--epilogue", "--m-buckets",
                           "--candidates", "--shard", "--report", "--fail-on-miss", "--export"}) {
    command->of_problems.push_back(sub.get_option(name));
  }
}

}  // namespace hotgemm::command
