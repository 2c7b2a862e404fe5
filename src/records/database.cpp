#include "records/database.hpp"

#include "config/max_size.hpp"
#include "config/prepacked.hpp"
#include "config/problem_text.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <functional>
#include <mutex>
#include <tuple>

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

/// Computed in float: it orders thousands of classes, so only the order matters.
double log_ratio(std::int64_t a, std::int64_t b) {
  return std::log2(static_cast<float>(std::max<std::int64_t>(a, 1)) / static_cast<float>(std::max<std::int64_t>(b, 1)));
}

/// The text of a class is "m n k " and the rest, which must be equal for two classes to be neighbours.
struct ClassText {
  Sizes sizes;
  std::string_view rest;  ///< from the space before the layout on
};

/// nullopt if `text` does not begin with three sizes. It allocates nothing: a search for neighbours calls it for
/// thousands of classes.
std::optional<ClassText> split_class(std::string_view text) {
  ClassText parts;
  for (std::int64_t* size : {&parts.sizes.m, &parts.sizes.n, &parts.sizes.k}) {
    if (size != &parts.sizes.m && !text.starts_with(' ')) return std::nullopt;
    if (size != &parts.sizes.m) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *size);
    if (error != std::errc() || *size < 0 || *size > kMaxSize) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  parts.rest = text;
  return parts;
}

double square(double x) { return x * x; }

double distance_squared(const Problem& a, const Sizes& b) {
  return square(log_ratio(a.m, b.m)) + square(log_ratio(a.n, b.n)) + square(log_ratio(a.k, b.k));
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
    open_layer(layer.string(), read_only_layer(layer, /*check_owner=*/true, report));
  }
  if (!options_.shipped.empty()) {
    open_layer(options_.shipped.string(), read_only_layer(options_.shipped, /*check_owner=*/false, report));
  }
}

void Database::open_layer(std::string name, std::vector<DatabaseFile> files) {
  layers_.push_back(std::move(name));
  for (DatabaseFile& file : files) {
    constexpr std::size_t kTypicalLineBytes = 350;
    classes_.reserve(classes_.size() + file.size / kTypicalLineBytes);
    files_.push_back(std::move(file));
    index_file(static_cast<int>(files_.size()) - 1, static_cast<int>(layers_.size()) - 1);
  }
}

void Database::index_file(int file, int layer) {
  std::string warning;
  const auto visit = [&](std::string_view text, int number, bool is_torn) {
    Line line;
    line.text = text;
    line.file = file;
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
  for_each_line(files_[static_cast<std::size_t>(file)].text(), visit);
  if (!warning.empty()) warn(warning);
}

void Database::append_line(std::string_view problem_class, Line line) {
  const int index = static_cast<int>(lines_.size());
  Class& entry = classes_[problem_class];
  if (entry.first < 0) {
    entry.first = index;
  } else {
    lines_[static_cast<std::size_t>(entry.last)].next = index;
  }
  entry.last = index;
  entry.has_unread = entry.has_unread || line.state == LineState::unread;
  lines_.push_back(std::move(line));
}

void Database::drop(const Line& line, const std::string& reason, std::string& warning) const {
  if (line.is_torn) return;  // its writer has not finished it, or was killed
  if (dropped_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  warning = files_[static_cast<std::size_t>(line.file)].path.string() + ":" + std::to_string(line.number) + ": " +
            reason + "; hotgemm ignores this tuning record and all other unusable ones (see `hotgemm db lint`)";
}

void Database::read_line(Line& line, std::string& warning) const {
  ParsedLine parsed = parse_line(line.text);
  if (parsed.stored) {
    line.stored = std::make_unique<StoredRecord>(std::move(*parsed.stored));
    line.state = LineState::good;
    return;
  }
  line.state = LineState::dropped;
  if (parsed.fault == LineFault::unusable) drop(line, parsed.reason, warning);
}

void Database::read_class(Class& entry, std::string& warning) const {
  for (int i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
    Line& line = lines_[static_cast<std::size_t>(i)];
    if (line.state == LineState::unread) read_line(line, warning);
  }
  entry.has_unread = false;
}

const Database::Line* Database::best_of(const Class& entry, const GpuQuery& query, Gpus gpus) const {
  // The first pass finds the latest record of the group with the best rank. The second pass finds the record with the
  // least cost that may be compared with it.
  using Rank = std::tuple<bool, bool, bool, int, bool, bool>;
  const Line* latest = nullptr;
  Rank best;
  const auto rank_of = [&](const Line& line) {
    const TuningRecord& record = line.stored->record;
    return Rank{record.objective == query.objective,
                is_of_gpu(record.environment, query.environment),
                has_these_kernels(record, query),
                -line.layer,
                freshness(record, query) == Freshness::current,
                !record.is_provisional};
  };
  const auto for_each = [&](const auto& visit) {
    for (int i = entry.first; i >= 0; i = lines_[static_cast<std::size_t>(i)].next) {
      const Line& line = lines_[static_cast<std::size_t>(i)];
      if (line.state != LineState::good) continue;
      const Environment& recorded = line.stored->record.environment;
      const bool counts = gpus == Gpus::of_query ? is_of_gpu(recorded, query.environment)
                                                 : !differs(query.environment.arch, recorded.arch);
      if (counts) visit(line);
    }
  };
  for_each([&](const Line& line) {
    const Rank rank = rank_of(line);
    if (latest != nullptr && std::tie(rank, line.stored->time) < std::tie(best, latest->stored->time)) return;
    best = rank;
    latest = &line;
  });
  const Line* least = latest;
  for_each([&](const Line& line) {
    if (line.layer != latest->layer || !same_conditions(line.stored->record, latest->stored->record)) return;
    if (cost_of(line.stored->record) < cost_of(least->stored->record)) least = &line;
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
    std::shared_lock shared(mutex_);
    auto entry = classes_.find(key);
    if (entry == classes_.end()) return std::nullopt;
    if (entry->second.has_unread) {
      shared.unlock();
      {
        const std::unique_lock exclusive(mutex_);
        read_class(classes_.find(key)->second, warning);
      }
      shared.lock();
      entry = classes_.find(key);
    }
    if (const Line* line = best_of(entry->second, query, Gpus::of_query)) result = found(*line, query);
  }
  if (!warning.empty()) warn(warning);
  return result;
}

std::vector<Neighbour> Database::nearest(const Workload& problem, const GpuQuery& query, int max) const {
  const Workload centre = class_of(problem);
  std::vector<Neighbour> result;
  std::string warning;
  {
    const std::unique_lock exclusive(mutex_);
    std::vector<std::tuple<double, std::string_view, Class*>> candidates;
    candidates.reserve(classes_.size());
    const std::string centre_text = to_string(centre);
    const ClassText asked = split_class(centre_text).value();
    for (auto& [text, entry] : classes_) {
      if (const std::optional<ClassText> parts = split_class(text); !parts) {
        read_class(entry, warning);  // its lines fail for the same reason and are counted
      } else if (parts->rest == asked.rest) {
        candidates.emplace_back(distance_squared(centre, parts->sizes), text, &entry);
      }
    }
    // A heap, because only the first few of possibly thousands are needed in order.
    std::make_heap(candidates.begin(), candidates.end(), std::greater<>());
    while (!candidates.empty() && static_cast<int>(result.size()) < max) {
      std::pop_heap(candidates.begin(), candidates.end(), std::greater<>());
      const auto [apart, text, entry] = candidates.back();
      candidates.pop_back();
      if (entry->has_unread) read_class(*entry, warning);
      if (const Line* line = best_of(*entry, query, Gpus::of_arch))
        result.push_back({found(*line, query), std::sqrt(apart)});
    }
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
    added_.push_back(text);
    Line line;
    line.text = added_.back();
    line.state = LineState::good;
    line.stored = std::make_unique<StoredRecord>(std::move(stored));
    append_line(leading_class(line.text), std::move(line));
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

std::vector<Found> Database::all(const GpuQuery& query) const {
  std::vector<const Line*> good;
  std::vector<Found> result;
  std::string warning;
  {
    const std::unique_lock exclusive(mutex_);
    for (auto& [text, entry] : classes_) {
      if (entry.has_unread) read_class(entry, warning);
    }
    for (const Line& line : lines_) {
      if (line.state == LineState::good) good.push_back(&line);
    }
    std::stable_sort(good.begin(), good.end(), [](const Line* a, const Line* b) { return a->layer < b->layer; });
    for (const Line* line : good) result.push_back(found(*line, query));
  }
  if (!warning.empty()) warn(warning);
  return result;
}

void Database::warn(const std::string& message) const {
  if (options_.warn) options_.warn(message);
}

}  // namespace hotgemm
