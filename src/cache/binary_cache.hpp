#pragma once

#include "cache/cache_options.hpp"
#include "cache/shard_lock.hpp"
#include "config/kernel_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// Facts about an entry of the user's layer, read from the entry itself.
struct CacheEntryInfo {
  std::filesystem::path path;
  std::string identity;  ///< 64 digits
  std::string symbol;
  std::string arch;
  std::string toolchain;
  int registers = 0;
  int spill_bytes = 0;
  int static_smem_bytes = 0;
  double compile_ms = 0;
  std::int64_t created_ns = 0;  ///< nanoseconds since 1970
  std::int64_t used_ns = 0;     ///< nanoseconds since 1970; precise to the hour
  std::uint64_t bytes = 0;      ///< on disk
};

struct VerifyReport {
  struct Bad {
    std::filesystem::path path;
    std::string reason;
  };
  std::size_t good = 0;
  std::vector<Bad> bad;
};

struct CacheList {
  std::vector<CacheEntryInfo> entries;  ///< the good ones, sorted by path
  std::vector<VerifyReport::Bad> bad;
};

struct CacheStat {
  // State of the user's layer at the time of the call.
  std::size_t entries = 0;
  std::size_t bad_files = 0;
  std::size_t temporaries = 0;
  std::uint64_t bytes = 0;  ///< on disk, of entries, bad files and temporaries together
  std::uint64_t max_bytes = 0;
  // Kernels in memory, at most BinaryCacheOptions::max_memory_bytes.
  std::size_t memory_entries = 0;
  std::uint64_t memory_bytes = 0;
  // Counts since this object was made.
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t misses =
      0;  ///< looks that found nothing; a kernel is looked for up to three times before it is compiled
  std::uint64_t stores = 0;
};

/// Compiled kernels by identity. They are kept in memory, in the user's directory, and in read-only directories
/// searched after it.
///
/// A file is used only after its owner, mode, lengths, checksums and full identity have been verified. Any other file
/// is a miss and causes one warning; in the user's layer it is also renamed to `.bad`. The checksums detect damage.
/// They do not authenticate: anyone who can write to a layer can run code on this GPU, hence the rules about owners and
/// modes.
///
/// Thread-safe. Other processes and other nodes may use the same directory.
class BinaryCache {
 public:
  /// Never throws because of the state of a disk: it warns of a directory that it cannot use, and goes on without it.
  /// In a set-id process the mode is CacheMode::off.
  explicit BinaryCache(BinaryCacheOptions options);
  ~BinaryCache();
  BinaryCache(const BinaryCache&) = delete;
  BinaryCache& operator=(const BinaryCache&) = delete;

  /// The entry that `preferred_toolchain` built, in any place. If there is none: the newest entry of the first place
  /// that has one. Places are searched in this order: memory, the user's layer, the read-only layers. Never throws for
  /// a bad entry or directory.
  std::optional<Cubin> find(const Identity& identity, std::string_view preferred_toolchain = {});

  /// Keeps `cubin` in memory, until the bytes there are needed for kernels that were used later, and writes it to the
  /// user's layer. A disk error causes one warning and no exception. After a lasting error (disk full, read-only,
  /// forbidden) later kernels stay in memory only.
  void store(const Identity& identity, const Cubin& cubin);

  /// True if a later process would find a kernel of this identity: a good entry lies in a layer on disk, or in the
  /// user's layer if `layers` says so. Never throws.
  enum class Layers { all, of_user };
  bool is_on_disk(const Identity& identity, Layers layers = Layers::all);

  /// Why `store` last left a kernel in memory alone, or removed kernels to make room, with the directory. Empty if it
  /// did neither.
  std::string store_failure() const;

  /// Forgets an entry, in memory and on disk, until it is stored again. For an entry that the driver refused although
  /// it had been verified. A file that holds another image stays. In a read-only layer the file stays, and is skipped;
  /// another image, or an older entry of another toolchain, is not.
  void discard(const Identity& identity, const Cubin& cubin, std::string_view reason);

  /// A lock to hold while a kernel is compiled, so that only one process of the node compiles it. After acquiring it,
  /// search the cache again. Hold one lock at a time. Waits at most `wait`, then returns without the lock.
  ShardLock lock(const Identity& identity, std::chrono::milliseconds wait = ShardLocks::kDefaultWait);

  // The functions below work on the user's layer. They throw Error{io_error} when it cannot be used. A missing layer
  // counts as empty.

  CacheList list();
  /// Checks the hash of every entry and lists the bad ones. Changes nothing.
  VerifyReport verify();
  CacheStat stat();
  /// The counts of `stat`, without a look at the disk. Never throws.
  CacheStat counts() const;
  /// Removes the least recently used entries until at most `max_bytes` are left, and returns the number of files
  /// removed. In CacheMode::read_only and off, trim and clear throw Error{io_error}.
  std::size_t trim(std::uint64_t max_bytes);
  /// Removes every file that belongs to the cache, and the kernels in memory. Returns the number of files removed.
  std::size_t clear();
  /// Empty when the cache has no directory on disk.
  const std::filesystem::path& directory() const;
  /// The directory that was asked for, also if the mode is off.
  const std::filesystem::path& wanted_directory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotgemm
