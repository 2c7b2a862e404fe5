#include "records/rejection_log.hpp"

#include "base/text.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <utility>

namespace hotgemm {

namespace {

constexpr int kRejectionSchema = 1;
constexpr std::string_view kIdentityPrefix = "{\"rejected\":\"";
constexpr std::array<std::string_view, 3> kStages = {"load", "check", "measure"};

[[noreturn]] void throw_io_error(const std::string& trouble) { throw Error(ErrorCode::io_error, trouble); }

std::string encode(const RejectionRecord& record) {
  std::string line(kIdentityPrefix);
  line += record.identity;
  line += schema_text(kRejectionSchema);
  line += ",\"config\":" + json_string(record.config);
  line += ",\"problem\":" + json_string(record.problem);
  line += ",\"stage\":" + json_string(record.stage);
  line += ",\"reason\":" + json_string(record.reason);
  line += environment_text(record.environment);
  line += ",\"time\":" + std::to_string(record.time);
  line += ",\"expires\":" + std::to_string(record.expires);
  return sealed(std::move(line));
}

RejectionRecord decode(std::string_view line) {
  const nlohmann::json json = parse_object(line);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  RejectionRecord record;
  record.identity = digest_field(json, "rejected");
  record.config = string_field(json, "config");
  record.problem = string_field(json, "problem");
  record.stage = string_field(json, "stage");
  if (std::find(kStages.begin(), kStages.end(), record.stage) == kStages.end()) {
    throw Reject{"\"stage\" is " + in_quotes(record.stage) + ": expected load, check or measure"};
  }
  record.reason = string_field(json, "reason");
  record.environment = environment_fields(json);
  record.time = integer_field(json, "time", kMax);
  record.expires = integer_field(json, "expires", kMax);
  return record;
}

int schema_of(std::string_view line) {
  const std::size_t end =
      line.starts_with(kIdentityPrefix) ? line.find('"', kIdentityPrefix.size()) : std::string_view::npos;
  if (end == std::string_view::npos) throw Reject{"does not begin with a kernel's identity"};
  return leading_schema(line.substr(end));
}

bool differ(const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; }

bool is_live(const RejectionRecord& record, std::int64_t now) {
  // Without the second limit a record with a time in the far future would never expire.
  return now < record.expires && record.time <= now + kClockSlackSeconds;
}

/// The content of a segment.
struct Content {
  std::vector<RejectionRecord> live;
  bool has_newer = false;
  std::string damage;  ///< file, line number and reason of the first damaged line

  bool is_spent() const { return live.empty() && !has_newer; }
};

Content content_of(const DatabaseFile& file, std::int64_t now) {
  Content content;
  for_each_line(file.text(), [&](std::string_view line, std::size_t number, bool is_torn) {
    ParsedRejection parsed = parse_rejection(line);
    if (parsed.record) {
      if (is_live(*parsed.record, now)) content.live.push_back(std::move(*parsed.record));
    } else if (parsed.is_newer) {
      content.has_newer = true;
    } else if (!is_torn && content.damage.empty()) {
      content.damage = file.path.string() + ":" + std::to_string(number) + ": " + parsed.reason;
    }
  });
  return content;
}

/// Removes segments that were spent when they were read, unless a process has appended to them since or is appending
/// now. If removing fails, the next opening finds the file again.
void remove_spent(const std::filesystem::path& layer, bool trust_shared, const std::vector<std::string>& names,
                  std::int64_t now) {
  const FileDescriptor directory = open_records(layer, kRejections, trust_shared, /*create=*/false, [](const auto&) {});
  if (!directory) return;
  for (const std::string& name : names) {
    const std::optional<LockedSegment> segment = lock_segment(directory.get(), name);
    if (!segment) continue;
    try {
      if (!content_of(read_open_file(segment->fd.get(), name), now).is_spent()) continue;
    } catch (const Error&) {
      continue;  // it changed in the meantime and is no longer a segment
    }
    ::unlinkat(directory.get(), name.c_str(), 0);
  }
}

}  // namespace

std::string to_line(const RejectionRecord& record) {
  const auto fail = [&](const std::string& why) {
    return Error(ErrorCode::invalid_argument,
                 "the rejection of " + in_quotes(record.config) + " cannot be stored: " + why);
  };
  std::string line;
  try {
    line = encode(record);
  } catch (const nlohmann::json::exception& error) {
    throw fail(error.what());  // a string that is not UTF-8
  }
  const ParsedRejection parsed = parse_rejection(line);
  if (!parsed.record) throw fail(parsed.reason);
  if (*parsed.record != record) throw fail("reading its text gives another record");
  return line;
}

ParsedRejection parse_rejection(std::string_view line) {
  try {
    const int schema = schema_of(line);
    if (schema > kRejectionSchema) {
      return {std::nullopt, true, "schema " + std::to_string(schema) + " is newer than this version"};
    }
    check_length(line);
    check_seal(line);
    RejectionRecord record = decode(line);
    // One comparison rejects every other spelling, as for tuning records.
    if (encode(record) != line) throw Reject{"a field is unknown, repeated, out of order or spelled differently"};
    return {std::move(record), false, {}};
  } catch (const Reject& reject) {
    return {std::nullopt, false, reject.reason};
  }
}

RejectionLog::RejectionLog(RejectionLogOptions options) : options_(std::move(options)) {
  if (!options_.warn) options_.warn = [](const std::string&) {};
  if (!options_.now) options_.now = [] { return static_cast<std::int64_t>(std::time(nullptr)); };
  has_disk_ = options_.writable && !options_.user_directory.empty();
  records_ = read();
}

/// Reads the segments, and removes those that are spent.
RejectionLog::Records RejectionLog::read() const {
  Records records;
  if (options_.user_directory.empty()) return records;
  const std::int64_t now = options_.now();
  std::string damage;
  std::vector<std::string> spent;
  for (const DatabaseFile& file :
       read_user_layer(options_.user_directory, kRejections, options_.trust_shared, options_.warn)) {
    Content content = content_of(file, now);
    if (content.is_spent()) spent.push_back(file.path.filename().string());
    if (damage.empty()) damage = content.damage;
    for (RejectionRecord& record : content.live) {
      std::string key = record.identity;
      records.emplace(std::move(key), std::move(record));
    }
  }
  if (!damage.empty()) options_.warn(damage + "; hotgemm ignores this rejection and all other damaged ones");
  if (options_.writable && !spent.empty()) remove_spent(options_.user_directory, options_.trust_shared, spent, now);
  return records;
}

void RejectionLog::reload() {
  Records records = read();
  const std::lock_guard lock(mutex_);
  for (const RejectionRecord& record : added_) {
    const auto [begin, end] = records.equal_range(record.identity);
    const bool is_there = std::any_of(begin, end, [&](const auto& entry) { return entry.second == record; });
    if (!is_there) records.emplace(record.identity, record);
  }
  records_ = std::move(records);
}

std::optional<RejectionRecord> RejectionLog::find(const std::string& identity, const Environment& environment) const {
  const std::int64_t now = options_.now();
  const std::lock_guard lock(mutex_);
  const RejectionRecord* latest = nullptr;
  const auto [begin, end] = records_.equal_range(identity);
  for (auto at = begin; at != end; ++at) {
    const RejectionRecord& record = at->second;
    const Environment& e = record.environment;
    const bool is_elsewhere = differ(environment.gpu, e.gpu) || differ(environment.driver, e.driver) ||
                              differ(environment.toolchain, e.toolchain);
    if (is_elsewhere || !is_live(record, now)) continue;
    if (latest == nullptr || record.time >= latest->time) latest = &record;
  }
  return latest == nullptr ? std::nullopt : std::optional(*latest);
}

void RejectionLog::add(RejectionRecord record) {
  for (std::string* text : {&record.config, &record.problem, &record.reason}) *text = storable(*text);
  if (record.time == 0) record.time = std::max<std::int64_t>(0, options_.now());
  if (record.expires == 0) record.expires = record.time + kRejectionLifetimeSeconds;
  const std::string text = to_line(record);
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    added_.push_back(record);
    std::string key = record.identity;
    records_.emplace(std::move(key), std::move(record));
    if (has_disk_) {
      try {
        own_segment(segment_, options_.user_directory, kRejections, options_.trust_shared).append(text);
      } catch (const Error& error) {
        has_disk_ = false;
        warning = std::string(error.what()) + "; rejections are kept in memory only";
      }
    }
  }
  if (!warning.empty()) options_.warn(warning);
}

std::vector<RejectionRecord> RejectionLog::all() const {
  const std::int64_t now = options_.now();
  std::vector<RejectionRecord> result;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [identity, record] : records_) {
      if (is_live(record, now)) result.push_back(record);
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const RejectionRecord& a, const RejectionRecord& b) { return a.time > b.time; });
  return result;
}

ClearReport clear_rejections(const std::filesystem::path& user_directory, bool trust_shared) {
  ClearReport report;
  const FileDescriptor directory =
      open_records(user_directory, kRejections, trust_shared, /*create=*/false, throw_io_error);
  if (!directory) return report;
  for (const std::string& name : segment_names(directory.get())) {
    const std::optional<LockedSegment> segment = lock_segment(directory.get(), name);
    if (!segment) {
      ++report.segments_in_use;
      continue;
    }
    const DatabaseFile file = read_open_file(segment->fd.get(), user_directory / "v1" / kRejections / name);
    for_each_line(file.text(), [&](std::string_view line, std::size_t, bool) {
      if (parse_rejection(line).record) ++report.removed;
    });
    if (::unlinkat(directory.get(), name.c_str(), 0) != 0) {
      throw_io_error("cannot remove " + file.path.string() + ": " + std::strerror(errno));
    }
  }
  return report;
}

}  // namespace hotgemm
