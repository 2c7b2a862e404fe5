#pragma once

#include "base/text.hpp"  // parse_size

#include <hotgemm/cache.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

struct BinaryCacheOptions {
  std::filesystem::path directory;                      ///< the user's layer; empty: memory only
  std::vector<std::filesystem::path> read_only_layers;  ///< searched in this order after the user's layer
  CacheMode mode = CacheMode::read_write;
  std::uint64_t max_bytes = std::uint64_t{1} << 30U;  ///< of the user's layer; above it the oldest entries are removed
  /// The limit on kernels in memory. Above it the least recently used ones are dropped, and read from disk or compiled
  /// again when they are needed. Kernels that a GPU has loaded do not count.
  std::uint64_t max_memory_bytes = std::uint64_t{256} << 20U;
  bool trust_shared = false;  ///< use directories and entries that other users can write
  bool durable = false;       ///< entries survive a power cut, at the cost of two fsyncs each
  /// The directory for locks, local to this node. Default: $XDG_RUNTIME_DIR/hotgemm, else /dev/shm/hotgemm-<uid>, else
  /// in `directory`.
  std::filesystem::path lock_directory;

  /// The options given by these variables: HOTGEMM_CACHE_DIR, HOTGEMM_CACHE_PATH (layers, separated by colons),
  /// HOTGEMM_CACHE (rw, ro, off), HOTGEMM_CACHE_MAX_SIZE and HOTGEMM_CACHE_MAX_MEMORY (as in parse_size),
  /// HOTGEMM_CACHE_TRUST (shared) and HOTGEMM_CACHE_DURABLE (0, 1). Relative paths are ignored with a warning. Any
  /// other bad value throws Error{invalid_argument} that names it.
  static BinaryCacheOptions from_environment();
  /// These options, changed by those of `options` that have a value. Throws Error{invalid_argument} if a layer has no
  /// absolute path.
  BinaryCacheOptions with(const CacheOptions& options) const;
};

/// The reason why the user's layer in `directory` stays as it is, in a mode that only reads. `what` is "written to" or
/// "removed from".
std::string why_unchanged(std::string_view what, const std::filesystem::path& directory, CacheMode mode);

/// $HOTGEMM_CACHE_DIR, else $XDG_CACHE_HOME/hotgemm, else ~/.cache/hotgemm, else /tmp/hotgemm-<uid> if that is absent
/// or belongs to this user alone, else empty. Never the working directory. A set-id process ignores these variables.
std::filesystem::path default_cache_directory();

}  // namespace hotgemm
