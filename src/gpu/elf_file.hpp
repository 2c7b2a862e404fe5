#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hotgemm {

using ElfBytes = std::span<const std::uint8_t>;

/// The value at `offset`; nothing if the bytes end before.
template <class T>
std::optional<T> elf_value_at(ElfBytes bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The `count` values from `offset` on; nothing if the bytes end before.
template <class T>
std::optional<std::vector<T>> elf_values_at(ElfBytes bytes, std::uint64_t offset, std::uint64_t count) {
  if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T)) return std::nullopt;
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data() + offset, count * sizeof(T));
  return values;
}

/// The text at `index` of a string table; nothing if it does not end within the table.
std::optional<std::string_view> elf_text_at(ElfBytes table, std::uint64_t index);

/// A section of an ELF file. Name and bytes point into the image. A section without bytes in the file has none here.
struct ElfSection {
  std::string_view name;
  Elf64_Shdr header;
  ElfBytes bytes;
};

/// The sections of `image`, by their numbers. Nothing unless it is a 64-bit little-endian ELF file whose headers, names
/// and sections lie inside the image.
std::optional<std::vector<ElfSection>> elf_sections(ElfBytes image);

}  // namespace hotgemm
