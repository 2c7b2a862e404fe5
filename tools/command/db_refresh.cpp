#include "command/db_refresh.hpp"

#include "command/compile_jobs.hpp"
#include "command/output_file.hpp"
#include "command/progress.hpp"
#include "config/render.hpp"
#include "context_impl.hpp"
#include "gpu/code_digest.hpp"
#include "records/database_files.hpp"
#include "records/record_text.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

namespace hotgemm::command {
namespace {

/// A line of the file; without a record it stays as it is.
struct RefreshLine {
  std::string text;
  std::optional<StoredRecord> stored;
  std::optional<KernelSource> source;  ///< of the pick, if its code is asked for
};

struct Tally {
  std::size_t current = 0;    ///< of today's templates already
  std::size_t refreshed = 0;  ///< of other templates with the same code
  std::size_t changed = 0;    ///< the code is another, or the record does not say what it was
  std::size_t failed = 0;     ///< the pick cannot be compiled here
};

std::vector<RefreshLine> read_lines(const std::filesystem::path& file) {
  std::vector<RefreshLine> lines;
  for (const DatabaseFile& one : read_named(file)) {
    for_each_line(one.text(), [&](std::string_view text, std::size_t, bool) {
      lines.push_back({.text = std::string(text), .stored = parse_line(text).stored, .source = {}});
    });
  }
  return lines;
}

bool has_todays_templates(const TuningRecord& record, const Engine& engine) {
  return record.template_digest == engine.template_digest(record.config);
}

/// Asks for the code where it decides, or where it is to be noted.
void add_source(RefreshLine& line, const Engine& engine) {
  if (!line.stored) return;
  const TuningRecord& record = line.stored->record;
  if (has_todays_templates(record, engine) != record.code_digest.empty()) return;
  line.source = render(record.config, traits_of(record.problem, record.launch), record.environment.arch, engine.bundle);
}

/// The cubins by identity; those that failed are missing.
std::map<std::string, Cubin> build(Session& session, Engine& engine, const std::vector<RefreshLine>& lines, int jobs) {
  std::map<std::string, KernelSource> sources;
  for (const RefreshLine& line : lines) {
    if (line.source) sources.emplace(line.source->identity.hex(), *line.source);
  }
  std::vector<KernelSource> list;
  for (const auto& [identity, source] : sources) list.push_back(source);
  const int count = jobs_or_default(jobs);
  use_workers_for(engine, count);
  Progress progress("compile", session.quiet);
  std::size_t done = 0;
  const std::vector<BuildResult> results =
      engine.builder.build_all(list, count,
                               [&](std::size_t i, const BuildResult&) {
                                 progress.update(++done, list.size(), list[i].symbol);
                                 return !is_interrupted();
                               },
                               {.reuse = Reuse::loaded_toolchain});
  std::map<std::string, Cubin> cubins;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (results[i].cubin) cubins.emplace(list[i].identity.hex(), *results[i].cubin);
  }
  const auto failed = std::ranges::find_if(results, [](const BuildResult& r) { return !r.cubin; });
  if (failed != results.end() && !is_interrupted()) session.note("hotgemm: not compiled: " + failed->failure);
  return cubins;
}

void refresh(RefreshLine& line, const Engine& engine, const std::map<std::string, Cubin>& cubins, Tally& tally) {
  if (!line.stored) return;
  TuningRecord& record = line.stored->record;
  const bool is_current = has_todays_templates(record, engine);
  std::size_t& counter = is_current ? tally.current : tally.changed;
  if (!line.source) {
    ++counter;
    return;
  }
  const auto cubin = cubins.find(line.source->identity.hex());
  if (cubin == cubins.end()) {
    ++(is_current ? tally.current : tally.failed);
    return;
  }
  const std::string digest = kernel_digest(cubin->second);
  if (is_current) {
    ++tally.current;
    // Another compiler may make other code than what was measured.
    if (cubin->second.toolchain == record.environment.toolchain) record.code_digest = digest;
  } else if (digest == record.code_digest) {
    ++tally.refreshed;
    record.template_digest = engine.template_digest(record.config);
  } else {
    ++tally.changed;
  }
  line.text = to_line(*line.stored);
}

}  // namespace

int refresh_file(Session& session, const std::string& file, int jobs) {
  const std::filesystem::path target = output_file(file);
  Context context(context_options(session));
  Engine& engine = impl_of(context).engine();
  const LockedDescriptor lock = lock_for_replacing(target);
  std::vector<RefreshLine> lines = read_lines(target);
  const std::ptrdiff_t records = std::ranges::count_if(lines, [](const RefreshLine& line) { return !!line.stored; });
  if (records == 0 && !lines.empty()) throw Error(ErrorCode::invalid_argument, "no line of " + file + " is a record");
  watch_for_interrupt();
  for (RefreshLine& line : lines) add_source(line, engine);
  const std::map<std::string, Cubin> cubins = build(session, engine, lines, jobs);
  if (is_interrupted()) {
    session.note("hotgemm: interrupted; " + file + " was not changed");
    return kInterrupted;
  }
  Tally tally;
  std::vector<std::string> texts;
  for (RefreshLine& line : lines) {
    refresh(line, engine, cubins, tally);
    texts.push_back(std::move(line.text));
  }
  const auto mode = static_cast<unsigned>(std::filesystem::status(target).permissions());
  publish_lines(AT_FDCWD, target.string(), texts, mode & 0777);
  session.output = Json{
      {"current", tally.current}, {"refreshed", tally.refreshed}, {"changed", tally.changed}, {"failed", tally.failed}};
  session.print(
      fmt::format("{}: {} records of these templates, {} more with the same machine code; {} to be tuned again, {} "
                  "that cannot be compiled here",
                  file, tally.current, tally.refreshed, tally.changed, tally.failed));
  if (const std::ptrdiff_t others = std::ssize(lines) - records; others > 0) {
    session.print(fmt::format("{} more that {} not records, and were not changed; `hotgemm db lint` says why",
                              in_words(static_cast<std::size_t>(others), "line"), others == 1 ? "is" : "are"));
  }
  return tally.changed + tally.failed == 0 ? kGood : kSomeFailed;
}

}  // namespace hotgemm::command
