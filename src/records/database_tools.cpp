#include "records/database_tools.hpp"

#include "records/database.hpp"
#include "records/database_files.hpp"
#include "records/record_text.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace hotgemm {

namespace {

/// Among the records with this key, a merge keeps one for each power limit: they have the same problem, GPU, software,
/// templates and objective. Their measures may differ.
std::string merge_key(const TuningRecord& record) {
  std::string key = to_string(record.problem);
  const Environment& e = record.environment;
  for (const std::string& part : {e.gpu, e.arch, std::to_string(e.sm_count), e.driver, e.toolchain,
                                  record.template_digest, std::string(to_string(record.objective))}) {
    key += '\0';
    key += part;
  }
  return key;
}

/// Keeps the record with the least cost (cost_of) for each merge_key, with the time of the latest one. A
/// database prefers the environment of the latest record; this must not change when the latest record was not the best.
/// A record without a power limit is kept where there is none with one.
class Best {
 public:
  void add(StoredRecord stored) {
    const auto [place, is_new] = records_.try_emplace({merge_key(stored.record), stored.record.power_limit_w}, stored);
    if (is_new || to_line(place->second) == to_line(stored)) return;
    ++superseded_;
    const std::int64_t time = later(place->second.time, stored.time);
    if (order(stored) < order(place->second)) place->second = std::move(stored);
    place->second.time = time;
  }

  /// The lines of the records that are kept. Call it once, after all records have been added.
  std::vector<std::string> lines() {
    for (auto place = records_.begin(); place != records_.end();) place = settle(place);
    std::vector<std::string> lines;
    for (const auto& [key, stored] : records_) lines.push_back(to_line(stored));
    return lines;
  }

  /// The number of records that lines() leaves out.
  std::size_t superseded() const { return superseded_; }

 private:
  using Records = std::map<std::pair<std::string, int>, StoredRecord>;  // by merge_key and power limit

  /// Drops the record at `place` if it has no power limit and the next one, of the same merge_key, has one. Its time
  /// goes to the latest of those. Returns the place after it.
  Records::iterator settle(Records::iterator place) {
    const auto is_same = [&](Records::iterator other) {
      return other != records_.end() && other->first.first == place->first.first;
    };
    const auto next = std::next(place);
    if (place->first.second != 0 || !is_same(next)) return next;
    StoredRecord* latest = &next->second;
    for (auto other = next; is_same(other); ++other) {
      if (recency(other->second.time, now_) >= recency(latest->time, now_)) latest = &other->second;
    }
    latest->time = later(latest->time, place->second.time);
    ++superseded_;
    return records_.erase(place);
  }

  /// A total order, so that the order of adding does not matter. Times by different measures cannot be compared, so the
  /// measure decides first: blocks, then rounds and the power model, rounds behind a kernel, and rounds. A comparison
  /// with cuBLAS is worth more than a slightly lower cost.
  static std::tuple<bool, bool, std::ptrdiff_t, bool, double, std::string, std::string> order(
      const StoredRecord& stored) {
    StoredRecord without_time = stored;
    without_time.time = 0;
    const TuningRecord& r = stored.record;
    constexpr std::array kBestFirst{Measure::sustained, Measure::modelled, Measure::behind, Measure::rounds};
    const auto place = std::ranges::find(kBestFirst, r.measure) - kBestFirst.begin();
    return {r.is_provisional,    is_picked_in_chain(r), place, r.cublas.version.empty(), cost_of(r),
            to_string(r.config), to_line(without_time)};
  }

  std::int64_t later(std::int64_t a, std::int64_t b) const { return recency(a, now_) < recency(b, now_) ? b : a; }

  Records records_;
  std::size_t superseded_ = 0;
  std::int64_t now_ = std::time(nullptr);
};

void publish_segments(int directory_fd, std::span<const std::string> lines, unsigned mode) {
  std::size_t first = 0, bytes = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bytes += lines[i].size() + 1;
    const bool is_last = i + 1 == lines.size();
    if (!is_last && bytes + lines[i + 1].size() < kSegmentBytes) continue;
    publish_lines(directory_fd, new_segment_name(), lines.subspan(first, i + 1 - first), mode);
    first = i + 1;
    bytes = 0;
  }
}

}  // namespace

std::vector<LintFinding> lint(const std::filesystem::path& path) {
  std::vector<LintFinding> findings;
  for (const DatabaseFile& file : read_named(path)) {
    for_each_line(file.text(), [&](std::string_view line, std::size_t number, bool is_torn) {
      const ParsedLine parsed = parse_line(line);
      if (parsed.fault == LineFault::none) return;
      findings.push_back({file.path, number, parsed.reason + (is_torn ? "; the file ends within this line" : "")});
    });
  }
  return findings;
}

namespace {

/// The lines of files: records, and those of a newer schema as they are.
class Merged {
 public:
  /// Returns the number of lines that are neither.
  std::size_t add(const std::filesystem::path& path) {
    std::size_t others = 0;
    for (const DatabaseFile& file : read_named(path)) {
      for_each_line(file.text(), [&](std::string_view line, std::size_t, bool) {
        ParsedLine parsed = parse_line(line);
        if (parsed.stored) {
          best_.add(std::move(*parsed.stored));
          has_any_ = true;
        } else if (parsed.fault == LineFault::newer_schema) {
          newer_.emplace(line);
          has_any_ = true;
        } else {
          ++others;
        }
      });
    }
    return others;
  }

  bool has_any() const { return has_any_; }
  std::size_t superseded() const { return best_.superseded(); }
  /// Call it once, after all lines have been added.
  std::vector<std::string> lines() {
    std::vector<std::string> lines = best_.lines();
    lines.insert(lines.end(), newer_.begin(), newer_.end());
    return lines;
  }

 private:
  Best best_;
  std::set<std::string> newer_;
  bool has_any_ = false;
};

void require_records(bool has_any, std::size_t others, const std::string& where) {
  if (has_any || others == 0) return;
  throw Error(ErrorCode::invalid_argument,
              "no line of " + where + " is a record, of " + std::to_string(others) + "; `hotgemm db lint` says why");
}

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

MergeReport merge(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output) {
  MergeReport report;
  Merged merged;
  bool is_input = false;  // the output, which is read below
  for (const std::filesystem::path& input : inputs) {
    if (is_same_file(input, output)) {
      is_input = true;
    } else {
      report.ignored += merged.add(input);
    }
  }
  if (!is_input) require_records(merged.has_any(), report.ignored, "the inputs");
  std::error_code ignored;
  const LockedDescriptor lock = lock_for_replacing(output);
  std::optional<unsigned> mode;
  if (const std::filesystem::file_status status = std::filesystem::status(output, ignored);
      std::filesystem::exists(status)) {
    mode = static_cast<unsigned>(status.permissions()) & 0777;
    if (merged.add(output) > 0) {
      throw Error(ErrorCode::invalid_argument, output.string() +
                                                   " has lines that are not records, so it is not replaced; "
                                                   "`hotgemm db lint` lists them");
    }
  }
  const std::vector<std::string> lines = merged.lines();
  report.kept = lines.size();
  report.superseded = merged.superseded();
  publish_lines(AT_FDCWD, output.string(), lines, mode);
  return report;
}

namespace {

/// The record that stands for each class, GPU and objective, in the order of their texts: the one that a database with
/// these alone would take, if all are current.
using Picks = std::map<std::tuple<std::string, std::string, std::string, int, Objective>, StoredRecord>;

Picks picks_of(const std::filesystem::path& path, std::size_t& ignored) {
  std::map<Picks::key_type, std::vector<std::pair<StoredRecord, std::string>>> records;  // with their lines
  std::size_t others = 0;
  for (const DatabaseFile& file : read_named(path)) {
    for_each_line(file.text(), [&](std::string_view line, std::size_t, bool) {
      ParsedLine parsed = parse_line(line);
      if (!parsed.stored) {
        ++others;
        return;
      }
      const TuningRecord& r = parsed.stored->record;
      const Environment& e = r.environment;
      records[{std::string(leading_class(line)), e.gpu, e.arch, e.sm_count, r.objective}].emplace_back(*parsed.stored,
                                                                                                       line);
    });
  }
  require_records(!records.empty(), others, path.string());
  ignored += others;
  Picks picks;
  for (const auto& [key, of_class] : records) {
    std::vector<RankedRecord> ranked;
    for (const auto& [stored, line] : of_class) ranked.push_back({&stored, line});
    picks.emplace(key, *preferred(ranked, {})->stored);
  }
  return picks;
}

}  // namespace

DiffReport diff(const std::filesystem::path& first, const std::filesystem::path& second) {
  DiffReport report;
  Picks ours = picks_of(first, report.ignored);
  Picks theirs = picks_of(second, report.ignored);
  for (auto& [key, stored] : ours) {
    const auto other = theirs.find(key);
    if (other == theirs.end()) {
      report.differences.push_back({std::move(stored.record), std::nullopt});
      continue;
    }
    const TuningRecord &a = stored.record, &b = other->second.record;
    if (a.config == b.config && a.launch == b.launch) {
      ++report.same;
    } else {
      report.differences.push_back({a, b});
    }
    theirs.erase(other);
  }
  for (auto& [key, stored] : theirs) report.differences.push_back({std::nullopt, std::move(stored.record)});
  std::ranges::stable_sort(report.differences, {}, [](const RecordDifference& d) {
    const TuningRecord& r = d.any();
    return std::tuple(to_string(r.problem), r.environment.gpu, r.environment.sm_count, r.objective);
  });
  return report;
}

PruneReport prune(const std::filesystem::path& user_directory, bool trust_shared,
                  const std::function<bool(const TuningRecord&)>& drop) {
  PruneReport report;
  const FileDescriptor directory =
      open_records(user_directory, kTuningRecords, trust_shared, /*create=*/false,
                   [](const std::string& trouble) { throw Error(ErrorCode::io_error, trouble); });
  if (!directory) return report;
  std::vector<LockedSegment> segments;
  std::vector<std::string> lines;
  Best best;
  for (const std::string& name : segment_names(directory.get())) {
    std::optional<LockedSegment> segment = lock_segment(directory.get(), name);
    if (!segment) {
      ++report.segments_in_use;
      continue;
    }
    const DatabaseFile file = read_open_file(segment->fd.get(), user_directory / "v1" / kTuningRecords / name);
    for_each_line(file.text(), [&](std::string_view line, std::size_t, bool) {
      ParsedLine parsed = parse_line(line);
      if (parsed.fault == LineFault::newer_schema || (!parsed.stored && parsed.is_sealed)) {
        lines.emplace_back(line);
      } else if (!parsed.stored) {
        ++report.unusable;
      } else if (drop(parsed.stored->record)) {
        ++report.dropped;
      } else {
        best.add(std::move(*parsed.stored));
      }
    });
    segments.push_back(std::move(*segment));
  }
  for (std::string& line : best.lines()) lines.push_back(std::move(line));
  report.superseded = best.superseded();
  report.kept = lines.size();
  publish_segments(directory.get(), lines, record_file_mode(directory.get(), trust_shared));
  for (const LockedSegment& segment : segments) ::unlinkat(directory.get(), segment.name.c_str(), 0);
  return report;
}

}  // namespace hotgemm
