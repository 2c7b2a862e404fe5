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

/// True if the times of the two records may be compared.
bool same_conditions(const TuningRecord& a, const TuningRecord& b) {
  return a.environment == b.environment && a.template_digest == b.template_digest && a.problem == b.problem &&
         a.measure == b.measure && is_picked_in_chain(a) == is_picked_in_chain(b) &&
         a.is_provisional == b.is_provisional && a.power_limit_w == b.power_limit_w && a.objective == b.objective &&
         a.cublas.version == b.cublas.version;
}

}  // namespace

Freshness freshness(const TuningRecord& record, const GpuQuery& query) {
  return why_stale(record, query).empty() ? Freshness::current : Freshness::stale;
}

bool is_picked_in_chain(const TuningRecord& record) {
  return record.launch.programmatic && record.measure == Measure::rounds;
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
  const Report report = [this](const std::string& trouble) { warn(trouble); };
  disk_is_good_ = options_.writable && !options_.user_directory.empty();
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
    by_text_.reserve(by_text_.size() + file.size / kTypicalLineBytes);
    lines_.reserve(lines_.size() + file.size / kTypicalLineBytes);
    files_.push_back(std::move(file));
    index_file(files_.size() - 1, static_cast<int>(layers_.size()) - 1);
  }
}

void Database::index_file(std::size_t file, int layer) {
  std::string warning;
  const auto visit = [&](std::string_view text, std::size_t number, bool is_torn) {
    Line line;
    line.text = text;
    line.file = static_cast<std::ptrdiff_t>(file);
    line.number = number;
    line.layer = layer;
    line.is_torn = is_torn;
    const std::string_view problem_class = leading_class(text);
    if (problem_class.empty()) {
      drop(line, "does not begin with a problem class", warning);
    } else {
      append_line(problem_class, std::move(line));
    }
  };
  for_each_line(files_[file].text(), visit);
  if (!warning.empty()) warn(warning);
}

void Database::append_line(std::string_view problem_class, Line line) {
  const auto [place, is_new] = by_text_.try_emplace(problem_class, classes_.size());
  if (is_new) classes_.emplace_back().text = problem_class;
  const auto index = static_cast<std::ptrdiff_t>(lines_.size());
  Class& entry = classes_[place->second];
  if (!neighbourhoods_.empty()) index_line(entry, place->second, line.text);
  if (entry.first < 0) {
    entry.first = index;
  } else {
    lines_[static_cast<std::size_t>(entry.last)].next = index;
  }
  entry.last = index;
  if (line.state == LineState::unread) entry.has_unread = true;
  lines_.push_back(std::move(line));
}

/// Adds the class to its neighbourhood, if that is there, for the architecture of a line that will be its last.
void Database::index_line(const Class& entry, std::size_t index, std::string_view line) {
  const std::optional<ClassText> parts = split_class(entry.text);
  const auto among = parts ? neighbourhoods_.find(parts->rest) : neighbourhoods_.end();
  if (among == neighbourhoods_.end()) return;
  const std::string_view arch = ArchFinder()(line);
  if (entry.last >= 0 && ArchFinder()(lines_[static_cast<std::size_t>(entry.last)].text) == arch) return;
  among->second[std::string(arch)].add(parts->sizes, index);
  ++classes_indexed_;
}

/// The classes with `rest`, which are indexed when it is first asked for. The caller holds searching_.
Database::Neighbourhood& Database::neighbourhood(std::string_view rest) const {
  if (const auto known = neighbourhoods_.find(rest); known != neighbourhoods_.end()) return known->second;
  Neighbourhood among;
  ArchFinder arch_of;
  for (std::size_t index = 0; index < classes_.size(); ++index) {
    const Class& entry = classes_[index];
    if (!entry.text.ends_with(rest)) continue;
    const std::optional<ClassText> parts = split_class(entry.text);
    if (!parts || parts->rest != rest) continue;  // no line of such a class is a record
    std::optional<std::string_view> before;
    for (std::ptrdiff_t i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
      const std::string_view arch = arch_of(lines_[static_cast<std::size_t>(i)].text);
      if (arch == std::exchange(before, arch)) continue;
      auto place = among.find(arch);
      if (place == among.end()) {
        place = among.try_emplace(std::string(arch)).first;
        place->second.reserve(classes_.size() - index);
      }
      place->second.add(parts->sizes, index);
      ++classes_indexed_;
    }
  }
  return neighbourhoods_.emplace(rest, std::move(among)).first->second;
}

void Database::drop(const Line& line, const std::string& reason, std::string& warning) const {
  if (line.is_torn) return;  // its writer has not finished it, or was killed
  if (dropped_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  warning = files_[static_cast<std::size_t>(line.file)].path.string() + ":" + std::to_string(line.number) + ": " +
            reason + "; hotgemm ignores this tuning record and all other unusable ones (see `hotgemm db lint`)";
}

void Database::read_line(Line& line, std::string& warning) const {
  ParsedLine parsed = parse_line(line.text);
  ++lines_parsed_;
  if (parsed.stored) {
    line.stored = std::make_unique<StoredRecord>(std::move(*parsed.stored));
    line.state = LineState::good;
    return;
  }
  line.state = LineState::dropped;
  if (parsed.fault == LineFault::unusable) drop(line, parsed.reason, warning);
}

void Database::read_class(Class& entry, std::string& warning) const {
  if (!entry.has_unread.load(std::memory_order_acquire)) return;
  const std::lock_guard reading(reading_);
  for (std::ptrdiff_t i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
    Line& line = lines_[static_cast<std::size_t>(i)];
    if (line.state == LineState::unread) read_line(line, warning);
  }
  entry.has_unread.store(false, std::memory_order_release);
}

const Database::Line* Database::best_of(const Class& entry, const GpuQuery& query, Gpus gpus) const {
  // The first pass finds the latest record of the group with the best rank. The second pass finds the record with the
  // least cost that may be compared with it.
  const Line* latest = nullptr;
  // Two lines may have the same second. Then the record that is compared with cuBLAS wins, then the cheaper one, then
  // the greater text. So the answer does not depend on the order of files.
  const auto rank_of = [&](const Line& line) {
    const TuningRecord& record = line.stored->record;
    return std::tuple(record.objective == query.objective, is_of_gpu(record.environment, query.environment),
                      has_these_kernels(record, query), -line.layer, freshness(record, query) == Freshness::current,
                      !record.is_provisional, line.stored->time, !record.cublas.version.empty(), -cost_of(record),
                      line.text);
  };
  const auto for_each = [&](const auto& visit) {
    for (std::ptrdiff_t i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
      const Line& line = lines_[static_cast<std::size_t>(i)];
      if (line.state != LineState::good) continue;
      const Environment& recorded = line.stored->record.environment;
      const bool counts = gpus == Gpus::of_query ? is_of_gpu(recorded, query.environment)
                                                 : !differs(query.environment.arch, recorded.arch);
      if (counts) visit(line);
    }
  };
  for_each([&](const Line& line) {
    if (latest == nullptr || rank_of(line) >= rank_of(*latest)) latest = &line;
  });
  const Line* least = latest;
  for_each([&](const Line& line) {
    if (line.layer != latest->layer || !same_conditions(line.stored->record, latest->stored->record)) return;
    const double cost = cost_of(line.stored->record), least_cost = cost_of(least->stored->record);
    if (cost < least_cost || (cost == least_cost && least != latest && line.text > least->text)) least = &line;
  });
  return least;
}

Found Database::found(const Line& line, const GpuQuery& query) const {
  const TuningRecord& record = line.stored->record;
  return {record, freshness(record, query), layers_[static_cast<std::size_t>(line.layer)]};
}

std::optional<Found> Database::find(const Workload& problem, const GpuQuery& query) const {
  const std::string key = to_string(class_of(problem));
  std::string warning;
  std::optional<Found> result;
  {
    const std::shared_lock shared(mutex_);
    const auto place = by_text_.find(key);
    if (place == by_text_.end()) return std::nullopt;
    Class& entry = classes_[place->second];
    read_class(entry, warning);
    if (const Line* line = best_of(entry, query, Gpus::of_query)) result = found(*line, query);
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
      Class& entry = classes_[hit->value];
      read_class(entry, warning);
      if (const Line* line = best_of(entry, query, Gpus::of_arch))
        result.push_back({found(*line, query), hit->distance});
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
        if (!segment_ || !segment_->is_ours())
          segment_.emplace(Segment::create(options_.user_directory, kTuningRecords, options_.trust_shared));
        segment_->append(text);
      } catch (const Error& error) {
        disk_is_good_ = false;
        warning = std::string(error.what()) + "; tuning results are kept in memory only";
      }
    }
  }
  if (!warning.empty()) warn(warning);
}

void Database::append_added(std::string text, std::unique_ptr<StoredRecord> stored) {
  added_.push_back(std::move(text));
  Line line;
  line.text = added_.back();
  line.state = LineState::good;
  line.stored = std::move(stored);
  append_line(leading_class(line.text), std::move(line));
}

bool Database::has_in_top_layer(std::string_view text) const {
  const auto place = by_text_.find(leading_class(text));
  if (place == by_text_.end()) return false;
  for (std::ptrdiff_t i = classes_[place->second].first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
    const Line& line = lines_[static_cast<std::size_t>(i)];
    if (line.layer == 0 && line.text == text) return true;
  }
  return false;
}

void Database::reload() {
  const std::lock_guard rereading(rereading_);
  Database fresh(options_);  // read without a lock; what it takes over is freed without one
  const std::unique_lock exclusive(mutex_);
  for (const Line& line : lines_) {
    const bool was_added = line.file < 0 && line.state == LineState::good;
    if (!was_added || fresh.has_in_top_layer(line.text)) continue;
    fresh.append_added(std::string(line.text), std::make_unique<StoredRecord>(*line.stored));
  }
  files_.swap(fresh.files_);
  lines_.swap(fresh.lines_);
  classes_.swap(fresh.classes_);
  by_text_.swap(fresh.by_text_);
  neighbourhoods_.swap(fresh.neighbourhoods_);
  added_.swap(fresh.added_);
  dropped_ = fresh.dropped();
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
    if (const auto place = by_text_.find(key); place != by_text_.end()) {
      Class& entry = classes_[place->second];
      read_class(entry, warning);
      for (std::ptrdiff_t i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
        Line& line = lines_[static_cast<std::size_t>(i)];
        if (line.layer != 0 || line.state != LineState::good) continue;
        line.state = LineState::dropped;
        line.stored.reset();
        ++forgotten.records;
      }
    }
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
    for (Class& entry : classes_) read_class(entry, warning);
    for (const Line& line : lines_) {
      if (line.state == LineState::good) good.push_back(&line);
    }
    std::stable_sort(good.begin(), good.end(), [](const Line* a, const Line* b) { return a->layer < b->layer; });
    for (const Line* line : good) result.push_back(found(*line, query));
  }
  if (!warning.empty()) warn(warning);
  return result;
}

void Database::add_digest_fields(IdentityBuilder& builder) const {
  std::map<std::string_view, std::map<int, std::set<std::string_view>>> lines;  // by class and layer
  std::string warning;
  {
    const std::shared_lock shared(mutex_);
    for (Class& entry : classes_) {
      read_class(entry, warning);
      for (std::ptrdiff_t i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
        const Line& line = lines_[static_cast<std::size_t>(i)];
        if (line.state == LineState::good) lines[entry.text][line.layer].insert(line.text);
      }
    }
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
