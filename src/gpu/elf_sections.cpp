#include "gpu/elf_sections.hpp"

#include <elf.h>

#include <cstring>
#include <type_traits>

namespace hotgemm {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// The `size` bytes at `offset`; nothing if the image ends before.
std::optional<Bytes> slice(Bytes image, std::uint64_t offset, std::uint64_t size) {
  if (offset > image.size() || size > image.size() - offset) return std::nullopt;
  return image.subspan(offset, size);
}

template <class T>
std::optional<T> read_at(Bytes image, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = slice(image, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

/// The name of a section; nothing if it does not end within the table.
std::optional<std::string_view> name_at(Bytes names, std::uint64_t index) {
  if (index >= names.size()) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(names.data() + index);
  const std::size_t limit = names.size() - index;
  const std::size_t length = strnlen(text, limit);
  if (length == limit) return std::nullopt;
  return std::string_view(text, length);
}

std::optional<std::vector<Elf64_Shdr>> read_headers(Bytes image, const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> sections;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    if (header.e_shoff > image.size()) return std::nullopt;  // then the sum below cannot overflow
    const auto section = read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    sections.push_back(*section);
  }
  return sections;
}

}  // namespace

std::optional<std::vector<ElfSection>> elf_sections(Bytes image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header) return std::nullopt;
  const auto headers = read_headers(image, *header);
  if (!headers || header->e_shstrndx >= headers->size()) return std::nullopt;
  const Elf64_Shdr& table = (*headers)[header->e_shstrndx];
  const auto names = slice(image, table.sh_offset, table.sh_size);
  if (!names) return std::nullopt;

  std::vector<ElfSection> sections;
  for (const Elf64_Shdr& section : *headers) {
    const auto name = name_at(*names, section.sh_name);
    if (!name) return std::nullopt;
    if (section.sh_type == SHT_NOBITS) continue;
    const auto bytes = slice(image, section.sh_offset, section.sh_size);
    if (!bytes) return std::nullopt;
    sections.push_back({*name, *bytes});
  }
  return sections;
}

}  // namespace hotgemm
