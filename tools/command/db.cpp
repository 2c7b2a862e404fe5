#include "cache/cache_options.hpp"
#include "command/commands.hpp"
#include "command/compile_jobs.hpp"
#include "command/db_refresh.hpp"
#include "command/gpu_query.hpp"
#include "command/output_file.hpp"
#include "command/problem_options.hpp"
#include "command/table.hpp"
#include "command/tune_report.hpp"
#include "context_impl.hpp"
#include "records/database_tools.hpp"
#include "records/rejection_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace hotgemm::command {
namespace {

/// "1.034 of 13.1.0", the ratio to the best of cuBLAS as `tune` prints it, or "1.034 of 13.1.0's default".
std::string cublas_text(const CublasComparison& cublas) {
  if (cublas.version.empty()) return "-";
  return fmt::format("{:.3f} of {}{}", best_known_ratio(cublas), cublas.version, cublas.ratio > 0 ? "" : "'s default");
}

/// "current; provisional: disturbed", for example.
std::string state_of(const Found& found, const GpuQuery& query) {
  const TuningRecord& r = found.record;
  std::string state = found.freshness == Freshness::stale ? "stale: " + why_stale(r, query) : "current";
  if (r.is_provisional) state += "; provisional";
  if (r.cause != ProvisionalCause::none) state += ": " + std::string(to_string(r.cause));
  return state;
}

Json record_json(const Found& found, const GpuQuery& query) {
  const TuningRecord& r = found.record;
  return {{"problem", to_string(r.problem)},
          {"config", to_string(r.config)},
          {"launch", to_string(r.launch)},
          {"median_us", r.timing.median_us},
          {"spread_us", r.timing.spread_us},
          {"samples", r.timing.samples},
          {"gpu", r.environment.gpu},
          {"arch", r.environment.arch},
          {"sm_count", r.environment.sm_count},
          {"driver", r.environment.driver},
          {"toolchain", r.environment.toolchain},
          {"measure", to_string(r.measure)},
          {"provisional", r.is_provisional},
          {"cause", r.cause != ProvisionalCause::none ? Json(to_string(r.cause)) : Json()},
          {"objective", to_string(r.objective)},
          {"joules", r.joules > 0 ? Json(r.joules) : Json()},
          {"cublas", to_json(r.cublas)},
          {"power_limit_w", r.power_limit_w > 0 ? Json(r.power_limit_w) : Json()},
          {"stale", found.freshness == Freshness::stale},
          {"changed", why_stale(r, query)},
          {"layer", found.layer}};
}

int show(Session& session) {
  require_cache_directory(session);
  Context context(context_options(session));
  Engine& engine = impl_of(context).engine();
  Table table({{"problem"},
               {"config"},
               {"launch"},
               {"objective"},
               {"µs", true},
               {"TFLOP/s", true},
               {"mJ", true},
               {"of cuBLAS"},
               {"GPU"},
               {"state"},
               {"layer"}});
  session.output["records"] = Json::array();
  const GpuQuery query = query_of(engine, session.device);
  for (const Found& found : engine.database.all(query)) {
    const TuningRecord& r = found.record;
    table.add({label(r.problem), to_string(r.config), to_string(r.launch), std::string(to_string(r.objective)),
               number(r.timing.median_us, 2), number(timed_tflops(r.problem, r.timing.median_us), 1),
               r.joules > 0 ? number(r.joules * 1e3, 2) : "-", cublas_text(r.cublas), r.environment.gpu,
               state_of(found, query), found.layer});
    session.output["records"].push_back(record_json(found, query));
  }
  session.output["ignored_lines"] = engine.database.dropped();
  session.print(table.empty() ? "no records" : table.text());
  if (engine.database.dropped() > 0) {
    session.print(fmt::format("{} lines are not records; `hotgemm db lint` says why", engine.database.dropped()));
  }
  session.output["left_out"] = engine.database.left_out();
  return engine.database.left_out() == 0 ? kGood : kEnvironment;  // the log names them
}

int merge_files(Session& session, const std::string& output, const std::vector<std::string>& inputs) {
  const MergeReport report =
      merge(std::vector<std::filesystem::path>(inputs.begin(), inputs.end()), output_file(output));
  session.output =
      Json{{"output", output}, {"kept", report.kept}, {"superseded", report.superseded}, {"ignored", report.ignored}};
  session.print(fmt::format("{}: {} records; {} were slower than another, {} lines were not records", output,
                            report.kept, report.superseded, report.ignored));
  return kGood;
}

Json side_json(const std::optional<TuningRecord>& record) {
  if (!record) return {};
  return {{"config", to_string(record->config)},
          {"launch", to_string(record->launch)},
          {"median_us", record->timing.median_us},
          {"provisional", record->is_provisional}};
}

std::string side_text(const std::optional<TuningRecord>& record) {
  if (!record) return "-";
  return fmt::format("{} {}, {} us", to_string(record->config), to_string(record->launch),
                     number(record->timing.median_us, 2));
}

int diff_files(Session& session, const std::string& first, const std::string& second) {
  const DiffReport report = diff(first, second);
  Table table({{"problem"}, {"objective"}, {"GPU"}, {first}, {second}});
  session.output = Json{{"same", report.same}, {"ignored", report.ignored}, {"differences", Json::array()}};
  for (const RecordDifference& d : report.differences) {
    const TuningRecord& r = d.any();
    table.add({label(r.problem), std::string(to_string(r.objective)), r.environment.gpu, side_text(d.first),
               side_text(d.second)});
    session.output["differences"].push_back({{"problem", to_string(r.problem)},
                                             {"objective", to_string(r.objective)},
                                             {"gpu", r.environment.gpu},
                                             {"arch", r.environment.arch},
                                             {"sm_count", r.environment.sm_count},
                                             {"first", side_json(d.first)},
                                             {"second", side_json(d.second)}});
  }
  if (!table.empty()) session.print(table.text());
  session.print(fmt::format("{} picks differ, {} are the same; {} lines were not records", report.differences.size(),
                            report.same, report.ignored));
  return report.differences.empty() ? kGood : kSomeFailed;
}

int print_digest(Session& session) {
  require_cache_directory(session);
  Context context(context_options(session));
  const std::string digest = context.records_digest();
  session.output = Json{{"digest", digest}, {"records", impl_of(context).engine().database.all().size()}};
  session.print(digest);
  return kGood;
}

int lint_files(Session& session, const std::vector<std::string>& files) {
  session.output["findings"] = Json::array();
  std::size_t count = 0;
  for (const std::string& file : files) {
    for (const LintFinding& finding : lint(file)) {
      ++count;
      session.print(fmt::format("{}:{}: {}", finding.file.string(), finding.line, finding.reason));
      session.output["findings"].push_back(
          {{"file", finding.file.string()}, {"line", finding.line}, {"reason", finding.reason}});
    }
  }
  if (count == 0) session.print("every line is a record");
  return count == 0 ? kGood : kSomeFailed;
}

/// The user's layer, from which a command removes something.
struct UserLayer {
  std::filesystem::path directory;
  bool trust_shared = false;
};

UserLayer user_layer(const Session& session) {
  require_cache_directory(session);
  const BinaryCacheOptions cache = BinaryCacheOptions::from_environment();
  const std::string chosen = context_options(session).cache_directory;
  const std::filesystem::path directory = chosen.empty() ? cache.directory : std::filesystem::path(chosen);
  if (cache.mode != CacheMode::read_write) {
    throw Error(ErrorCode::io_error, why_unchanged("removed from", directory, cache.mode));
  }
  return {directory, cache.trust_shared};
}

std::string in_use_note(std::size_t segments) {
  return segments == 0 ? "" : fmt::format("; {} files are in use and were not changed", segments);
}

int prune_user_layer(Session& session, bool drop_stale) {
  const UserLayer layer = user_layer(session);
  Context context(context_options(session));
  const GpuQuery query = query_of(impl_of(context).engine(), session.device);
  const auto drop = [&](const TuningRecord& record) {
    return drop_stale && freshness(record, query) == Freshness::stale;
  };
  const PruneReport report = prune(layer.directory, layer.trust_shared, drop);
  session.output = Json{{"kept", report.kept},
                        {"dropped", report.dropped},
                        {"superseded", report.superseded},
                        {"unusable", report.unusable},
                        {"segments_in_use", report.segments_in_use}};
  session.print(fmt::format("{} records kept; dropped: {} stale, {} slower than another, {} unusable{}", report.kept,
                            report.dropped, report.superseded, report.unusable, in_use_note(report.segments_in_use)));
  return kGood;
}

std::string utc(std::int64_t seconds) { return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(seconds)); }

int show_rejections(Session& session) {
  require_cache_directory(session);
  Context context(context_options(session));
  Table table({{"config"}, {"problem"}, {"stage"}, {"reason"}, {"GPU"}, {"kernel"}, {"until (UTC)"}});
  session.output["rejections"] = Json::array();
  for (const RejectionRecord& r : impl_of(context).engine().rejections.all()) {
    table.add({r.config, r.problem, r.stage, one_line(r.reason), r.environment.gpu, r.identity.substr(0, 12),
               utc(r.expires)});
    session.output["rejections"].push_back({{"config", r.config},
                                            {"problem", r.problem},
                                            {"stage", r.stage},
                                            {"reason", r.reason},
                                            {"identity", r.identity},
                                            {"gpu", r.environment.gpu},
                                            {"arch", r.environment.arch},
                                            {"driver", r.environment.driver},
                                            {"toolchain", r.environment.toolchain},
                                            {"time", r.time},
                                            {"expires", r.expires}});
  }
  session.print(table.empty() ? "no kernel is rejected" : table.text());
  return kGood;
}

int clear_user_rejections(Session& session) {
  session.schema = "db-rejections-clear";
  const UserLayer layer = user_layer(session);
  const ClearReport report = clear_rejections(layer.directory, layer.trust_shared);
  session.output = Json{{"removed", report.removed}, {"segments_in_use", report.segments_in_use}};
  session.print(fmt::format("{} rejections removed{}", report.removed, in_use_note(report.segments_in_use)));
  return kGood;
}

}  // namespace

void add_db_command(CLI::App& app, Session& session) {
  constexpr CommonOptions kOfFiles{.device = false, .cache = false, .progress = false};
  CLI::App& group =
      *app.add_subcommand("db", "show, merge, compare, check and prune tuning records; list rejected kernels");
  group.require_subcommand(1);
  add_subcommand(group, session, "show", "show all records of all layers", [&session] { return show(session); },
                 {.progress = false});

  const auto output = std::make_shared<std::string>();
  const auto inputs = std::make_shared<std::vector<std::string>>();
  CLI::App& merge_command = add_subcommand(
      group, session, "merge", "write the best records of files and directories to one file, beside those that it has",
      [&session, output, inputs] { return merge_files(session, *output, *inputs); }, kOfFiles);
  merge_command.add_option("output", *output, "the file to write")->type_name("FILE")->required();
  merge_command.add_option("input", *inputs, "files, or directories of them")->type_name("FILE")->required();

  const auto sides = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App& diff_command = add_subcommand(
      group, session, "diff",
      "list the problems for which two files or directories have other picks, or only one has a record; exit with 2 if "
      "there is one",
      [&session, sides] { return diff_files(session, sides->first, sides->second); }, kOfFiles);
  diff_command.add_option("first", sides->first, "a file, or a directory of them")->type_name("FILE")->required();
  diff_command.add_option("second", sides->second, "a file, or a directory of them")->type_name("FILE")->required();

  add_subcommand(group, session, "digest",
                 "print a digest of what decides picks: records, templates, version, objective, cap of workspace. "
                 "Machines with the same digest, GPU model, driver and compiler pick the same kernels",
                 [&session] { return print_digest(session); }, {.device = false, .progress = false});

  const auto files = std::make_shared<std::vector<std::string>>();
  CLI::App& lint_command = add_subcommand(
      group, session, "lint", "list every line that is not a record; exit with 2 if there is one",
      [&session, files] { return lint_files(session, *files); }, kOfFiles);
  lint_command.add_option("file", *files, "files, or directories of them")->type_name("FILE")->required();

  const auto refreshed = std::make_shared<std::pair<std::string, int>>();
  CLI::App& refresh_command = add_subcommand(
      group, session, "refresh",
      "keep the records of a file whose templates have changed but whose kernels have not: compiles their picks, and "
      "compares the machine code with what was measured; exit with 2 if records must be tuned again",
      [&session, refreshed] { return refresh_file(session, refreshed->first, refreshed->second); }, {.device = false});
  refresh_command.add_option("file", refreshed->first, "the file, which is replaced")->type_name("FILE")->required();
  add_jobs_option(refresh_command, refreshed->second);

  const auto drop_stale = std::make_shared<bool>(false);
  CLI::App& prune_command = add_subcommand(
      group, session, "prune",
      "compact the user's records: keep the best of each problem, GPU and objective that were measured under the same "
      "conditions",
      [&session, drop_stale] { return prune_user_layer(session, *drop_stale); }, {.progress = false});
  prune_command.add_flag(
      "--stale", *drop_stale,
      "also drop records measured with other templates, another driver or another compiler, or by blocks under another "
      "power limit");

  const auto clear = std::make_shared<bool>(false);
  CLI::App& rejections_command =
      add_subcommand(group, session, "rejections",
                     "list the kernels that failed, hung or were wrong, and until when they are not tried again",
                     [&session, clear] { return *clear ? clear_user_rejections(session) : show_rejections(session); },
                     {.device = false, .progress = false});
  rejections_command.add_flag("--clear", *clear, "forget the rejections, so that all kernels may be tried again");
}

}  // namespace hotgemm::command
