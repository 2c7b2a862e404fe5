#pragma once

#include "plan/database_files.hpp"
#include "plan/tuning_record.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {

/// A kernel that proved wrong or dangerous when it ran.
struct RejectionRecord {
  std::string identity;  ///< of the kernel, 64 hex digits
  std::string config;    ///< its config's name
  std::string problem;   ///< on which it was run
  std::string stage;     ///< "load", "check" or "measure"
  std::string reason;
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

/// Kernels not to be tried again soon, by identity: whatever changes a kernel's machine code makes it a new one. JSON
/// lines in segments, one per writer, each line validated by itself; damage is a line less, never an error. Opening
/// reads what has not expired. Thread-safe.
class RejectionLog {
 public:
  explicit RejectionLog(RejectionLogOptions options);

  /// The latest unexpired record of the kernel `identity` for the same GPU model, driver and toolchain. Fields of
  /// `environment` that are empty are not compared.
  std::optional<RejectionRecord> find(const std::string& identity, const Environment& environment) const;

  /// Makes `record` visible to this object at once and appends it to this object's segment; where `time` is zero it is
  /// now, and where `expires` is zero it is `time` and a lifetime. Trouble with the disk is one warning.
  void add(RejectionRecord record);

  /// Every unexpired record, the latest first.
  std::vector<RejectionRecord> all() const;

 private:
  RejectionLogOptions options_;
  mutable std::mutex mutex_;
  std::multimap<std::string, RejectionRecord> records_;  // by identity
  std::optional<Segment> segment_;
  bool has_disk_ = true;
};

}  // namespace hotgemm
