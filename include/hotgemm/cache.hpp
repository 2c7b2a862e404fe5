#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The use of the disk by the cache of kernels and records.
enum class CacheMode {
  read_write,
  read_only,  ///< nothing on disk changes: no entry, no record, no time stamp, no directory
  off,        ///< no disk access; what this process makes is still found in memory
};
/// "rw", "ro", "off", as in HOTGEMM_CACHE; empty for a number that is no enumerator.
constexpr std::string_view to_string(CacheMode mode) {
  switch (mode) {
    case CacheMode::read_write: return "rw";
    case CacheMode::read_only: return "ro";
    case CacheMode::off: return "off";
  }
  return {};
}

/// The cache of kernels and records, apart from its directory. An option without a value is that of its environment
/// variable, else the default.
struct CacheOptions {
  std::optional<CacheMode> mode;  ///< HOTGEMM_CACHE; read_write
  /// Directories that are only read, after the user's one; HOTGEMM_CACHE_PATH; none. Absolute paths.
  std::optional<std::vector<std::string>> read_only_layers;
  /// The most bytes of kernels on disk; above it the least recently used are removed. HOTGEMM_CACHE_MAX_SIZE; 1 GiB.
  std::optional<std::uint64_t> max_bytes;
  /// The most bytes of kernels in memory; above it the least recently used are dropped, and read or compiled again.
  /// Kernels that a GPU has loaded do not count. HOTGEMM_CACHE_MAX_MEMORY; 256 MiB.
  std::optional<std::uint64_t> max_memory_bytes;
  /// Use directories and files that other users can write. HOTGEMM_CACHE_TRUST; false.
  std::optional<bool> trust_shared;
  /// Stored kernels survive a power cut, at the cost of two fsyncs each. HOTGEMM_CACHE_DURABLE; false.
  std::optional<bool> durable;
};

}  // namespace hotgemm
