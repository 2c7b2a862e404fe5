#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A section of an ELF file. Name and bytes point into the image.
struct ElfSection {
  std::string_view name;
  std::span<const std::uint8_t> bytes;
};

/// The sections of `image` that have bytes in the file. Nothing unless it is a 64-bit little-endian ELF file whose
/// headers, names and sections lie inside the image.
std::optional<std::vector<ElfSection>> elf_sections(std::span<const std::uint8_t> image);

}  // namespace hotgemm
