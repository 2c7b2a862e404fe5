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

/// What an entry of the user's layer says of itself.
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
  std::int64_t created_ns = 0;  ///< since 1970
  std::int64_t used_ns = 0;     ///< since 1970, to the hour
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

struct CacheStat {
  // The user's layer, counted now.
  std::size_t entries = 0;
  std::size_t bad_files = 0;
  std::size_t temporaries = 0;
  std::uint64_t bytes = 0;  ///< on disk, of all three
  std::uint64_t max_bytes = 0;
  // This object, since it was made.
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t stores = 0;
};

/// Compiled kernels by identity: in memory, in the user's directory, and in read-only directories below it.
///
/// A file is handed out only after its owner, mode, lengths, checksums and full identity have been verified; anything
/// else is a miss, one warning, and in the user's layer a file renamed to `.bad`. The checksums find damage. They do
/// not authenticate: whoever can write to a layer can run code on this GPU, hence the rules about owners and modes.
///
/// Thread-safe, and safe to share a directory with other processes and other nodes.
class BinaryCache {
 public:
  /// Never throws for the state of a disk: what cannot be used is warned of and done without. A set-id process gets
  /// CacheMode::off.
  explicit BinaryCache(BinaryCacheOptions options);
  ~BinaryCache();
  BinaryCache(const BinaryCache&) = delete;
  BinaryCache& operator=(const BinaryCache&) = delete;

  /// The entry that `preferred_toolchain` built, wherever it lies; else the newest one of the first place that has any,
  /// of memory, the user's layer and the read-only layers. Never throws for a bad entry or directory.
  std::optional<Cubin> find(const Identity& identity, std::string_view preferred_toolchain = {});

  /// Keeps `cubin` in memory, and writes it to the user's layer. Trouble with the disk is warned of once; when it is
  /// the kind that lasts (full, read-only, forbidden), later kernels stay in memory only. Never throws for it.
  void store(const Identity& identity, const Cubin& cubin);

  /// Forgets an entry that the driver refused although it was verified, on disk too, until it is stored again.
  void discard(const Identity& identity, const Cubin& cubin, std::string_view reason);

  /// To be held while a kernel is compiled, so that one process of the node does it. Look again after acquiring it.
  /// Hold one at a time. Waits at most `wait`, then goes on without.
  ShardLock lock(const Identity& identity, std::chrono::milliseconds wait = ShardLocks::kDefaultWait);

  // The functions below concern the user's layer. They throw Error{io_error} when it cannot be used; one that is absent
  // is empty.

  /// The good entries, by path.
  std::vector<CacheEntryInfo> list();
  /// Rehashes every entry and names the bad ones; changes nothing.
  VerifyReport verify();
  CacheStat stat();
  /// Removes the least recently used entries until at most `max_bytes` are left; returns how many files went.
  /// In CacheMode::read_only and off, throws Error{invalid_argument}, as clear does.
  std::size_t trim(std::uint64_t max_bytes);
  /// Removes every file that is ours, and what is held in memory; returns how many files went.
  std::size_t clear();
  /// Empty when nothing is kept on disk.
  const std::filesystem::path& directory() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotgemm
