#pragma once

#include "records/database_files.hpp"
#include "records/tuning_record.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A kernel that proved wrong or dangerous when it ran.
struct RejectionRecord {
  std::string identity;      ///< of the kernel, 64 hex digits
  std::string config;        ///< its config's name
  std::string problem;       ///< on which it was run
  std::string stage;         ///< "load", "check" or "measure"
  std::string reason;        ///< kept to 256 bytes
  Environment environment;   ///< where it was run
  std::int64_t time = 0;     ///< seconds since 1970
  std::int64_t expires = 0;  ///< seconds since 1970: from then on it may be tried again
  friend bool operator==(const RejectionRecord&, const RejectionRecord&) = default;
};

inline constexpr std::int64_t kRejectionLifetimeSeconds = 7 * 24 * 3600;

struct RejectionLogOptions {
  std::filesystem::path user_directory;  ///< segments go to its v1/rejected; empty: kept in memory only
  bool writable = true;                  ///< false: what is added stays in memory
  bool trust_shared = false;             ///< as in DatabaseOptions
  Report warn;                           ///< as in DatabaseOptions
  std::function<std::int64_t()> now;     ///< seconds since 1970; empty: the system's clock
};

/// The line of `record`, without a newline: as tuning records have one (plan/record_text.hpp), and as strictly read.
/// Throws Error{invalid_argument} for a record that parse_rejection would refuse, saying why.
std::string to_line(const RejectionRecord& record);

struct ParsedRejection {
  std::optional<RejectionRecord> record;
  bool is_newer = false;  ///< of a later version of hotgemm: not ours to judge or remove
  std::string reason;     ///< why there is no record; empty where there is one
};

/// Inverse of to_line. Never throws for what the line says.
ParsedRejection parse_rejection(std::string_view line);

/// Kernels not to be tried again soon, by identity: whatever changes a kernel's machine code makes it a new one. JSON
/// lines in segments, one per writer, each line validated by itself; damage is a line less and a warning, never an
/// error. Opening reads what has not expired, and where it is writable removes the segments that hold nothing else
/// and that no process appends to. What other processes add after opening is not seen. Thread-safe.
class RejectionLog {
 public:
  explicit RejectionLog(RejectionLogOptions options);

  /// The latest unexpired record of the kernel `identity` for the same GPU model, driver and toolchain. Fields that are
  /// empty on either side are not compared.
  std::optional<RejectionRecord> find(const std::string& identity, const Environment& environment) const;

  /// Makes `record` visible to this object at once and appends it to this object's segment; where `time` is zero it is
  /// now, and where `expires` is zero it is `time` and a lifetime. Trouble with the disk is one warning, and nothing is
  /// written from then on. Throws Error{invalid_argument} for a record that cannot be stored: with an identity that is
  /// none, or an unknown stage.
  void add(RejectionRecord record);

  /// Every unexpired record, the latest first.
  std::vector<RejectionRecord> all() const;

 private:
  RejectionLogOptions options_;
  mutable std::mutex mutex_;                             ///< guards what follows
  std::multimap<std::string, RejectionRecord> records_;  // by identity
  std::optional<Segment> segment_;
  bool has_disk_ = true;
};

struct ClearReport {
  std::size_t removed = 0;          ///< records, expired ones too
  std::size_t segments_in_use = 0;  ///< left alone: a process may be appending
};

/// Removes the rejections of a user's layer, so that every kernel may be tried again. Lines of a newer version go with
/// the segment they are in. Throws Error{io_error}.
ClearReport clear_rejections(const std::filesystem::path& user_directory, bool trust_shared);

}  // namespace hotgemm
