#pragma once

#include "cache/cache_directory.hpp"
#include "cache/cache_entry.hpp"
#include "cache/cache_warnings.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// One directory of entries: `v1/cubin/<2 digits>/<identity>-<toolchain>.hgk`. Files that are being written are in
/// `v1/tmp/`.
///
/// The layer keeps nothing open between calls, so that the next call notices a directory that was removed, replaced or
/// made unsafe. Thread-safe. A problem with a single entry causes a warning. A problem with the whole directory causes
/// an exception, as in CacheDirectory.
class CacheLayer {
 public:
  enum class Kind { entry, bad, temporary };

  /// A file that belongs to the cache, judged by its name.
  struct Item {
    Kind kind = Kind::entry;
    std::string shard;  ///< empty for a temporary file
    std::string name;
    struct ::stat status {};
    std::uint64_t bytes() const;                      ///< on disk
    std::int64_t used_ns(std::int64_t now_ns) const;  ///< from the cache's own time stamp; never later than now
  };

  struct TrimResult {
    std::size_t removed = 0;
    std::uint64_t bytes = 0;  ///< that are left
  };

  /// If `may_change` is false, no file below `path` is ever changed. `warnings` must outlive the layer.
  CacheLayer(std::filesystem::path path, DirectoryRules rules, bool may_change, CacheWarnings& warnings);

  const std::filesystem::path& path() const { return path_; }

  std::optional<CacheEntry> find(const Identity& identity, std::string_view tag) const;
  /// The entry that was built last, of all toolchains, among those that `is_wanted` accepts.
  std::optional<CacheEntry> find_newest(const Identity& identity,
                                        const std::function<bool(const CacheEntry&)>& is_wanted) const;
  /// Writes a temporary file and renames it. An entry of the same name from another writer is replaced: both are
  /// equally good.
  void publish(const Identity& identity, std::string_view tag, std::span<const std::uint8_t> bytes, bool durable) const;
  /// Renames the entry of `refused` to `.bad`, if it still holds that image. Throws Error{io_error} if it cannot be
  /// read.
  void quarantine(const Identity& identity, const Cubin& refused) const;

  std::vector<Item> scan() const;
  std::filesystem::path path_of(const Item& entry) const;
  /// Reads and checks one scanned entry; nullopt when it is gone. Throws Error{io_error} that says what is wrong.
  std::optional<CacheEntry> check(const Item& item) const;
  /// Removes bad files, then the least recently used entries, until at most `max_bytes` are left.
  TrimResult trim(std::uint64_t max_bytes) const;
  /// Removes every file that belongs to the cache and returns their number.
  std::size_t clear() const;
  /// Removes files that killed writers left behind, if they are older than `age`.
  void sweep(std::chrono::seconds age) const;

 private:
  std::optional<CacheDirectory> open_below(const std::vector<std::string>& names, bool create) const;
  std::optional<CacheDirectory> open_shard(std::string_view hex) const;
  std::optional<CacheEntry> load(const CacheDirectory& shard, const std::string& name, const Identity& identity) const;
  void reject(const CacheDirectory& shard, const std::string& name, const std::optional<struct ::stat>& seen,
              const std::string& reason) const;
  void publish_once(const std::string& shard_name, const std::string& name, std::span<const std::uint8_t> bytes,
                    bool durable) const;
  bool remove(const Item& item) const;

  std::filesystem::path path_;
  DirectoryRules rules_;
  bool may_change_;
  CacheWarnings& warnings_;
};

/// Nanoseconds since 1970.
std::int64_t wall_clock_ns();

}  // namespace hotgemm
