#pragma once

#include "base/text.hpp"  // parse_size

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace hotgemm {

enum class CacheMode {
  read_write,
  read_only,  ///< nothing on disk changes: no entry, no time stamp, no directory
  off,        ///< no disk at all; what this process built is still found
};

struct BinaryCacheOptions {
  std::filesystem::path directory;                      ///< the user's layer; empty: memory only
  std::vector<std::filesystem::path> read_only_layers;  ///< searched after it, in order
  CacheMode mode = CacheMode::read_write;
  std::uint64_t max_bytes = std::uint64_t{1} << 30U;  ///< of the user's layer; beyond it, the least recently used go
  bool trust_shared = false;                          ///< use directories and entries that other users can write
  bool durable = false;                               ///< entries survive a power cut, at the price of two fsyncs each
  /// Where locks lie, on this node; empty: $XDG_RUNTIME_DIR/hotgemm, else /dev/shm/hotgemm-<uid>, else in `directory`.
  std::filesystem::path lock_directory;

  /// What HOTGEMM_CACHE_DIR, HOTGEMM_CACHE_PATH (colon-separated layers), HOTGEMM_CACHE (rw, ro, off),
  /// HOTGEMM_CACHE_MAX_SIZE (as parse_size), HOTGEMM_CACHE_TRUST (shared) and HOTGEMM_CACHE_DURABLE (0, 1) say.
  /// Relative paths are ignored with a warning; any other bad value throws Error{invalid_argument} that names it.
  static BinaryCacheOptions from_environment();
};

/// $HOTGEMM_CACHE_DIR, else $XDG_CACHE_HOME/hotgemm, else ~/.cache/hotgemm, else /tmp/hotgemm-<uid> if that is ours
/// alone or absent, else empty. Never the working directory. A set-id process sees none of these variables.
std::filesystem::path default_cache_directory();

}  // namespace hotgemm
