#include "records/database.hpp"

#include "config/prepacked.hpp"
#include "config/problem_text.hpp"
#include "records/class_text.hpp"
#include "records/database_tools.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

namespace hotgemm {

namespace {

bool differs(const std::string& known, const std::string& recorded) { return !known.empty() && known != recorded; }

bool has_other_templates(const TuningRecord& record, const GpuQuery& query) {
  return query.template_digest && differs(query.template_digest(record.config), record.template_digest);
}

/// True if the record was picked by blocks on a GPU of this model under another power limit. Under another limit the
/// clocks differ, and another kernel may be the fastest. Limits that differ by less than 5 % count as one: cards of a
/// model differ as much among themselves.
bool has_other_power_limit(const TuningRecord& record, const GpuQuery& query) {
  constexpr double kSame = 0.05;
  if (record.measure != Measure::sustained || record.power_limit_w <= 0 || !(query.power_limit_w > 0)) return false;
  if (differs(query.environment.gpu, record.environment.gpu)) return false;
  return std::abs(record.power_limit_w - query.power_limit_w) > kSame * query.power_limit_w;
}

/// True if the record is of the model, and of the number of SMs, that the query asks for. A query that names no model
/// takes every record of its architecture.
bool is_of_gpu(const Environment& recorded, const Environment& asked) {
  if (differs(asked.arch, recorded.arch)) return false;
  if (asked.gpu.empty()) return true;
  return asked.gpu == recorded.gpu && (asked.sm_count == 0 || asked.sm_count == recorded.sm_count);
}

/// True if the record's time is that of a kernel that this version would run.
bool has_these_kernels(const TuningRecord& record, const GpuQuery& query) {
  return !has_other_templates(record, query) && !is_picked_in_chain(record);
}

}  // namespace

Freshness freshness(const TuningRecord& record, const GpuQuery& query) {
  return why_stale(record, query).empty() ? Freshness::current : Freshness::stale;
}

bool is_picked_in_chain(const TuningRecord& record) {
  return record.launch.programmatic && record.measure == Measure::rounds;
}

namespace {

/// True if the costs of the two records may be compared.
bool same_conditions(const TuningRecord& a, const TuningRecord& b) {
  return a.environment == b.environment && a.template_digest == b.template_digest && a.problem == b.problem &&
         a.measure == b.measure && is_picked_in_chain(a) == is_picked_in_chain(b) &&
         a.is_provisional == b.is_provisional && a.power_limit_w == b.power_limit_w && a.objective == b.objective &&
         a.cublas.version == b.cublas.version;
}

}  // namespace

const RankedRecord* preferred(std::span<const RankedRecord> records, const GpuQuery& query) {
  if (records.empty()) return nullptr;
  // The first pass finds the latest record of the group with the best rank. The second pass finds the record with the
  // least cost that may be compared with it.
  // Two lines may have the same second. Then the record that is compared with cuBLAS wins, then the cheaper one, then
  // the greater text. So the answer does not depend on the order of files.
  const auto rank_of = [&query, now = std::time(nullptr)](const RankedRecord& one) {
    const TuningRecord& record = one.stored->record;
    return std::tuple(record.objective == query.objective, is_of_gpu(record.environment, query.environment),
                      has_these_kernels(record, query), -one.layer, freshness(record, query) == Freshness::current,
                      !record.is_provisional, recency(one.stored->time, now), !record.cublas.version.empty(),
                      -cost_of(record), one.text);
  };
  const RankedRecord* const latest = &*std::ranges::max_element(records, {}, rank_of);
  const RankedRecord* least = latest;
  for (const RankedRecord& one : records) {
    if (one.layer != latest->layer || !same_conditions(one.stored->record, latest->stored->record)) continue;
    const double cost = cost_of(one.stored->record), least_cost = cost_of(least->stored->record);
    if (cost < least_cost || (cost == least_cost && least != latest && one.text > least->text)) least = &one;
  }
  return least;
}

std::string why_stale(const TuningRecord& record, const GpuQuery& query) {
  std::string changes;
  const auto add = [&](const std::string& change) { changes += (changes.empty() ? "" : ", ") + change; };
  if (differs(query.environment.driver, record.environment.driver)) add("driver");
  if (differs(query.environment.toolchain, record.environment.toolchain)) add("toolchain");
  if (has_other_templates(record, query)) add("templates");
  if (is_picked_in_chain(record)) add("measure of programmatic launches");
  if (has_other_power_limit(record, query)) {
    add("power limit " + std::to_string(record.power_limit_w) + " W, now " +
        std::to_string(std::lround(query.power_limit_w)) + " W");
  }
  return changes;
}

Database::Database(DatabaseOptions options) : options_(std::move(options)) {
  const Report report = [this](const std::string& trouble) {
    ++left_out_;
    warn(trouble);
  };
  disk_is_good_ = options_.writable && !options_.user_directory.empty();
  if (!disk_is_good_) unstored_.reason = "nothing is to be written to disk (HOTGEMM_CACHE)";
  if (options_.user_directory.empty()) {
    open_layer("memory", {});
  } else {
    open_layer(options_.user_directory.string(),
               read_user_layer(options_.user_directory, kTuningRecords, options_.trust_shared, report));
  }
  for (const std::filesystem::path& layer : options_.read_only_layers) {
    open_layer(layer.string(), read_only_layer(layer, {.owner = {}, .trust_shared = options_.trust_shared}, report));
  }
  if (!options_.shipped.empty()) {
    open_layer(options_.shipped.string(),
               read_only_layer(options_.shipped, {options_.shipped_owner, options_.trust_shared}, report));
  }
}

void Database::open_layer(std::string name, std::vector<DatabaseFile> files) {
  layers_.push_back(std::move(name));
  for (DatabaseFile& file : files) {
    constexpr std::size_t kTypicalLineBytes = 350;
    classes_.reserve(classes_.size() + file.size / kTypicalLineBytes);
    lines_.reserve(lines_.size() + file.size / kTypicalLineBytes);
    files_.push_back(std::move(file));
    index_file(files_.size() - 1, layers_.size() - 1);
  }
}

void Database::index_file(std::size_t file, std::size_t layer) {
  std::string warning;
  for_each_line(files_[file].text(), [&](std::string_view text, std::size_t, bool) {
    const std::string_view problem_class = leading_class(text);
    if (problem_class.empty()) return drop(text, file, "does not begin with a problem class", warning);
    append_line(problem_class,
                {.text = text, .file = static_cast<std::uint32_t>(file), .layer = static_cast<std::int16_t>(layer)});
  });
  if (!warning.empty()) warn(warning);
}

void Database::append_line(std::string_view problem_class, Line line) {
  const auto index = static_cast<std::uint32_t>(lines_.size());
  const auto text_of = [this](std::uint32_t first) { return class_at(first); };
  const std::uint32_t first = classes_.find_or_add(problem_class, index, text_of);
  if (!neighbourhoods_.empty()) index_line(first, problem_class, line.text);
  lines_.push_back(std::move(line));
  if (first != index) lines_[lines_[first].last].next = index;
  lines_[first].last = index;
}

std::uint32_t Database::find_class(std::string_view text) const {
  return classes_.find(text, [this](std::uint32_t first) { return class_at(first); });
}

/// Calls visit(line) for each line of the class, in their order.
template <class Visit>
void Database::for_each_line_of(std::uint32_t first, const Visit& visit) const {
  for (std::uint32_t i = first; i != kNone; i = lines_[i].next) visit(lines_[i]);
}

/// Calls visit(first) for each class, in their order.
template <class Visit>
void Database::for_each_class(const Visit& visit) const {
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].last != kNone) visit(i);
  }
}

/// Adds the class to its neighbourhood, if that is there, for the architecture of a line that will be its last.
void Database::index_line(std::uint32_t first, std::string_view problem_class, std::string_view line) {
  const std::optional<ClassText> parts = split_class(problem_class);
  const auto among = parts ? neighbourhoods_.find(parts->rest) : neighbourhoods_.end();
  if (among == neighbourhoods_.end()) return;
  const std::string_view arch = ArchFinder()(line);
  const bool is_new = first == lines_.size();
  if (!is_new && ArchFinder()(lines_[lines_[first].last].text) == arch) return;
  among->second[std::string(arch)].add(parts->sizes, first);
  ++classes_indexed_;
}

/// The classes with `rest`, which are indexed when it is first asked for. The caller holds searching_.
Database::Neighbourhood& Database::neighbourhood(std::string_view rest) const {
  if (const auto known = neighbourhoods_.find(rest); known != neighbourhoods_.end()) return known->second;
  Neighbourhood among;
  ArchFinder arch_of;
  auto place = among.end();  // of the line before
  for_each_class([&](std::uint32_t first) {
    const std::string_view text = class_at(first);
    if (!text.ends_with(rest)) return;
    const std::optional<ClassText> parts = split_class(text);
    if (!parts || parts->rest.size() != rest.size()) return;  // no line of such a class is a record
    std::optional<std::string_view> before;
    for_each_line_of(first, [&](const Line& line) {
      const std::string_view arch = arch_of(line.text);
      if (arch == std::exchange(before, arch)) return;
      if (place == among.end() || place->first != arch) place = among.find(arch);
      if (place == among.end()) {
        place = among.try_emplace(std::string(arch)).first;
        place->second.reserve(classes_.size());
      }
      place->second.add(parts->sizes, first);
      ++classes_indexed_;
    });
  });
  return neighbourhoods_.emplace(rest, std::move(among)).first->second;
}

void Database::drop(std::string_view text, std::size_t file, const std::string& reason, std::string& warning) const {
  const std::string_view all = files_[file].text();
  const auto at = static_cast<std::size_t>(text.data() - all.data());
  if (at + text.size() == all.size()) return;  // no newline: its writer has not finished it, or was killed
  if (dropped_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  const auto number = 1 + std::ranges::count(all.substr(0, at), '\n');
  warning = files_[file].path.string() + ":" + std::to_string(number) + ": " + reason +
            "; hotgemm ignores this tuning record and all other unusable ones (see `hotgemm db lint`)";
}

void Database::read_line(Line& line, std::string& warning) const {
  ParsedLine parsed = parse_line(line.text);
  ++lines_parsed_;
  if (parsed.stored) line.stored = std::make_unique<StoredRecord>(std::move(*parsed.stored));
  if (parsed.fault == LineFault::unusable) drop(line.text, line.file, parsed.reason, warning);
  std::atomic_ref(line.state).store(line.stored ? LineState::good : LineState::dropped, std::memory_order_release);
}

void Database::read_class(std::uint32_t first, std::string& warning) const {
  bool has_unread = false;
  for_each_line_of(first, [&](Line& line) {
    has_unread = has_unread || std::atomic_ref(line.state).load(std::memory_order_acquire) == LineState::unread;
  });
  if (!has_unread) return;
  const std::lock_guard reading(reading_);
  for_each_line_of(first, [&](Line& line) {
    if (line.state == LineState::unread) read_line(line, warning);
  });
}

std::optional<Found> Database::best_of(std::uint32_t first, const GpuQuery& query, Gpus gpus) const {
  std::vector<RankedRecord> counted;
  for_each_line_of(first, [&](const Line& line) {
    if (line.state != LineState::good) return;
    const Environment& recorded = line.stored->record.environment;
    const bool counts = gpus == Gpus::of_query ? is_of_gpu(recorded, query.environment)
                                               : !differs(query.environment.arch, recorded.arch);
    if (counts) counted.push_back({line.stored.get(), line.text, line.layer});
  });
  const RankedRecord* const best = preferred(counted, query);
  if (best == nullptr) return std::nullopt;
  return found(best->stored->record, best->layer, query);
}

Found Database::found(const TuningRecord& record, int layer, const GpuQuery& query) const {
  return {record, freshness(record, query), layers_[static_cast<std::size_t>(layer)]};
}

std::optional<Found> Database::find(const Workload& problem, const GpuQuery& query) const {
  const std::string key = to_string(class_of(problem));
  std::string warning;
  std::optional<Found> result;
  {
    const std::shared_lock shared(mutex_);
    const std::uint32_t first = find_class(key);
    read_class(first, warning);
    result = best_of(first, query, Gpus::of_query);
  }
  if (!warning.empty()) warn(warning);
  return result;
}

std::vector<Neighbour> Database::nearest(const Workload& problem, const GpuQuery& query, int max,
                                         double farthest) const {
  const std::string centre_text = to_string(class_of(problem));
  const ClassText asked = split_class(centre_text).value();
  std::vector<Neighbour> result;
  std::string warning;
  {
    const std::shared_lock shared(mutex_);
    NearestSizes walk(asked.sizes, farthest);
    {
      const std::lock_guard searching(searching_);
      for (auto& [arch, classes] : neighbourhood(asked.rest)) {
        if (query.environment.arch.empty() || query.environment.arch == arch) walk.search(classes);
      }
    }
    const auto next = [&] {
      const std::lock_guard searching(searching_);
      return walk.next();
    };
    std::optional<std::size_t> last;
    while (std::ssize(result) < max) {
      const std::optional<NearestSizes::Hit> hit = next();
      if (!hit) break;
      if (last == hit->value) continue;  // a class with lines of several architectures, or several lines of one
      last = hit->value;
      const auto first = static_cast<std::uint32_t>(hit->value);
      read_class(first, warning);
      if (std::optional<Found> best = best_of(first, query, Gpus::of_arch))
        result.push_back({std::move(*best), hit->distance});
    }
    classes_visited_ += walk.visited();
  }
  if (!warning.empty()) warn(warning);
  return result;
}

void Database::add(const TuningRecord& record) {
  StoredRecord stored{record, std::max<std::int64_t>(0, static_cast<std::int64_t>(std::time(nullptr)))};
  stored.record.problem = as_aligned(record.problem);  // of the class, which has no prepacked operands
  const std::string text = to_line(stored);
  std::string warning;
  {
    const std::unique_lock exclusive(mutex_);
    append_added(text, std::make_unique<StoredRecord>(std::move(stored)));
    if (disk_is_good_) {
      try {
        own_segment(segment_, options_.user_directory, kTuningRecords, options_.trust_shared).append(text);
      } catch (const Error& error) {
        disk_is_good_ = false;
        unstored_.reason = error.what();
        warning = unstored_.reason + "; tuning results are kept in memory only";
      }
    }
    if (!disk_is_good_) ++unstored_.records;
  }
  if (!warning.empty()) warn(warning);
}

Database::Unstored Database::unstored() const {
  const std::shared_lock shared(mutex_);
  return unstored_;
}

void Database::append_added(std::string text, std::unique_ptr<StoredRecord> stored) {
  added_.push_back(std::move(text));
  const std::string_view line = added_.back();
  append_line(leading_class(line), {.text = line, .state = LineState::good, .stored = std::move(stored)});
}

bool Database::has_in_top_layer(std::string_view text) const {
  bool has = false;
  for_each_line_of(find_class(leading_class(text)),
                   [&](const Line& line) { has = has || (line.layer == 0 && line.text == text); });
  return has;
}

void Database::reload() {
  const std::lock_guard rereading(rereading_);
  Database fresh(options_);  // read without a lock; what it takes over is freed without one
  const std::unique_lock exclusive(mutex_);
  for (const Line& line : lines_) {
    const bool was_added = line.file == kNone && line.state == LineState::good;
    if (!was_added || fresh.has_in_top_layer(line.text)) continue;
    fresh.append_added(std::string(line.text), std::make_unique<StoredRecord>(*line.stored));
  }
  files_.swap(fresh.files_);
  lines_.swap(fresh.lines_);
  std::swap(classes_, fresh.classes_);
  neighbourhoods_.swap(fresh.neighbourhoods_);
  added_.swap(fresh.added_);
  dropped_ = fresh.dropped();
  left_out_ = fresh.left_out();
  ++reloads_;
}

Database::Forgotten Database::forget(const Workload& problem) {
  const std::lock_guard rereading(rereading_);
  const std::string key = to_string(class_of(problem));
  Forgotten forgotten;
  std::string warning;
  {
    const std::unique_lock exclusive(mutex_);
    segment_.reset();  // prune leaves alone what is in use
    const std::uint32_t first = find_class(key);
    read_class(first, warning);
    for_each_line_of(first, [&](Line& line) {
      if (line.layer != 0 || line.state != LineState::good) return;
      line.state = LineState::dropped;
      line.stored.reset();
      ++forgotten.records;
    });
  }
  if (!warning.empty()) warn(warning);
  if (!options_.writable || options_.user_directory.empty()) return forgotten;
  forgotten.segments_in_use = prune(options_.user_directory, options_.trust_shared, [&](const TuningRecord& record) {
                                return to_string(class_of(record.problem)) == key;
                              }).segments_in_use;
  return forgotten;
}

std::vector<Found> Database::all(const GpuQuery& query) const {
  std::vector<const Line*> good;
  std::vector<Found> result;
  std::string warning;
  {
    const std::shared_lock shared(mutex_);
    for_each_class([&](std::uint32_t first) { read_class(first, warning); });
    for (const Line& line : lines_) {
      if (line.state == LineState::good) good.push_back(&line);
    }
    std::stable_sort(good.begin(), good.end(), [](const Line* a, const Line* b) { return a->layer < b->layer; });
    for (const Line* line : good) result.push_back(found(line->stored->record, line->layer, query));
  }
  if (!warning.empty()) warn(warning);
  return result;
}

void Database::add_digest_fields(IdentityBuilder& builder) const {
  std::map<std::string_view, std::map<int, std::set<std::string_view>>> lines;  // by class and layer
  std::string warning;
  {
    const std::shared_lock shared(mutex_);
    for_each_class([&](std::uint32_t first) {
      read_class(first, warning);
      for_each_line_of(first, [&](const Line& line) {
        if (line.state == LineState::good) lines[class_at(first)][line.layer].insert(line.text);
      });
    });
    for (const auto& [text, layers] : lines) {
      builder.field("class", text);
      for (const auto& [layer, records] : layers) {
        builder.field("layer", "");  // its number does not matter, only that others are below it
        for (const std::string_view record : records) builder.field("record", record);
      }
    }
  }
  if (!warning.empty()) warn(warning);
}

void Database::warn(const std::string& message) const {
  if (options_.warn) options_.warn(message);
}

}  // namespace hotgemm
