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

inline constexpr std::size_t kMaxEntryBytes = std::size_t{64} << 20U;  ///< limit for the whole file

/// One kernel in the cache. It is a single file, so that the image and its description cannot be mixed up.
///
/// Layout, little-endian: magic (8 bytes), format (u32), header length (u32), payload length (u64), SHA-256 of the
/// payload, SHA-256 of all bytes before it and of the header, the header, the payload. The header holds the identity as
/// plain text.
struct CacheEntry {
  Identity identity;
  Cubin cubin;
  std::int64_t created_ns = 0;  ///< nanoseconds since 1970
  friend bool operator==(const CacheEntry&, const CacheEntry&) = default;
};

/// The bytes of the file. Throws Error{invalid_argument} if the image is empty, if the file would exceed
/// kMaxEntryBytes, or if a count is negative.
std::vector<std::uint8_t> encode_entry(const CacheEntry& entry);

/// Inverse of encode_entry. A checksum or a comparison covers every byte. Throws Error{io_error} that says what is
/// wrong. The checksums detect damage; they do not authenticate.
CacheEntry decode_entry(std::span<const std::uint8_t> bytes);

/// A short tag for a toolchain. It consists of hexadecimal digits, whatever characters the toolchain's name has.
std::string toolchain_tag(std::string_view toolchain);
/// "<identity>-<toolchain tag>.hgk"
std::string entry_name(std::string_view identity_hex, std::string_view tag);
/// True if `name` has the form that entry_name makes. Other files in the directory do not belong to the cache.
bool is_entry_name(std::string_view name);
/// True if `name` is an entry's name with kBadSuffix.
bool is_bad_entry_name(std::string_view name);

inline constexpr std::string_view kBadSuffix = ".bad";

}  // namespace hotgemm
