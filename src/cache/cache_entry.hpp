#pragma once

#include "base/sha256.hpp"
#include "config/kernel_source.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

inline constexpr std::size_t kMaxEntryBytes = std::size_t{64} << 20U;  ///< of the whole file

/// One kernel as it lies in the cache: a single file, so that the image and what is said of it cannot be mixed up.
///
/// Little-endian: magic (8 bytes), format (u32), header length (u32), payload length (u64), SHA-256 of the payload,
/// SHA-256 of everything before it and the header, the header, the payload. The header holds the identity in clear.
struct CacheEntry {
  Identity identity;
  Cubin cubin;
  std::int64_t created_ns = 0;  ///< nanoseconds since 1970
  friend bool operator==(const CacheEntry&, const CacheEntry&) = default;
};

/// The file's bytes. Throws Error{invalid_argument} for an empty image, one that would pass kMaxEntryBytes, or a
/// negative count.
std::vector<std::uint8_t> encode_entry(const CacheEntry& entry);

/// The inverse; every byte is covered by a checksum or a comparison. Throws Error{io_error} that says what is wrong.
/// The checksums find damage; they do not authenticate.
CacheEntry decode_entry(std::span<const std::uint8_t> bytes);

/// A short tag for a toolchain, made of hexadecimal digits whatever the toolchain's name holds.
std::string toolchain_tag(std::string_view toolchain);
/// "<identity>-<toolchain tag>.hgk"
std::string entry_name(std::string_view identity_hex, std::string_view tag);
/// Whether `name` is what entry_name makes; nothing else in the directory is ours.
bool is_entry_name(std::string_view name);
/// Whether `name` is an entry's name with kBadSuffix.
bool is_bad_entry_name(std::string_view name);

inline constexpr std::string_view kBadSuffix = ".bad";

}  // namespace hotgemm
