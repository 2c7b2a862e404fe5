#pragma once

#include "records/append_file.hpp"
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

/// A record of a kernel that proved wrong or dangerous when it ran.
struct RejectionRecord {
  std::string identity;      ///< of the kernel, 64 hex digits
  std::string config;        ///< its config's name
  std::string problem;       ///< the problem on which it ran
  std::string stage;         ///< "load", "check" or "measure"
  std::string reason;        ///< cut to 256 bytes
  Environment environment;   ///< where it was run
  std::int64_t time = 0;     ///< seconds since 1970
  std::int64_t expires = 0;  ///< seconds since 1970; from then on the kernel may be tried again
  friend bool operator==(const RejectionRecord&, const RejectionRecord&) = default;
};

inline constexpr std::int64_t kRejectionLifetimeSeconds = 7 * 24 * 3600;

/// Segments are written to v1/rejected of the layer.
struct RejectionLogOptions : LayerOptions {
  std::function<std::int64_t()> now;  ///< returns seconds since 1970; empty: the system clock
};

/// The line for `record`, without a newline, in the same form as for tuning records (records/record_text.hpp) and read
/// as strictly. Throws Error{invalid_argument}, with the reason, for a record that parse_rejection would reject.
std::string to_line(const RejectionRecord& record);

struct ParsedRejection {
  std::optional<RejectionRecord> record;
  bool is_newer = false;  ///< written by a later version of hotgemm; this version does not judge or remove it
  std::string reason;     ///< why there is no record; empty if there is one
};

/// Inverse of to_line. Never throws, whatever the line contains.
ParsedRejection parse_rejection(std::string_view line);

/// Kernels that must not be tried again soon, by identity: any change to the machine code of a kernel makes it a new
/// kernel. The log consists of JSON lines in segments with one writer each. Each line is validated by itself; a damaged
/// line is dropped with a warning, never an error. Opening reads the records that have not expired. If the directory is
/// writable, opening also removes segments that hold only expired records and that no process appends to. Records that
/// other processes add after opening are seen after `reload`. Thread-safe.
class RejectionLog {
 public:
  explicit RejectionLog(RejectionLogOptions options);

  /// The latest unexpired record of the kernel `identity` for the same GPU model, driver and toolchain. Fields that are
  /// empty on either side are not compared.
  std::optional<RejectionRecord> find(const std::string& identity, const Environment& environment) const;

  /// Makes `record` visible to this object at once and appends it to this object's segment. A zero `time` becomes now;
  /// a zero `expires` becomes `time` plus the lifetime. A disk error causes one warning, and later records are not
  /// written. Throws Error{invalid_argument} for a record that cannot be stored: one with an invalid identity or an
  /// unknown stage.
  void add(RejectionRecord record);

  /// Reads the segments again, as opening does. Records that this object has added stay.
  void reload();

  /// Every unexpired record, the latest first.
  std::vector<RejectionRecord> all() const;

 private:
  using Records = std::multimap<std::string, RejectionRecord>;  // keyed by identity
  Records read() const;

  RejectionLogOptions options_;
  mutable std::mutex mutex_;  ///< guards the members below
  Records records_;
  std::vector<RejectionRecord> added_;
  std::optional<Segment> segment_;
  bool has_disk_ = true;
};

struct ClearReport {
  std::size_t removed = 0;          ///< records, including expired ones
  std::size_t segments_in_use = 0;  ///< not changed, because a process may be appending to them
};

/// Removes the rejections of a user's layer, so that every kernel may be tried again. Lines of a newer version are
/// removed with their segment. Throws Error{io_error}.
ClearReport clear_rejections(const std::filesystem::path& user_directory, bool trust_shared);

}  // namespace hotgemm
