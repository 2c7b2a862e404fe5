#include "standin/elf_symbols.hpp"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hotgemm::standin {
namespace {

constexpr Elf64_Half kMachineCuda = 190;
constexpr unsigned char kAbiWithWideArch =
    8;  // the version that CUDA 13 writes; in older versions the flags began with the arch
constexpr std::uint64_t kMaxImageBytes = std::uint64_t{256} << 20;  // larger than any cubin: a larger offset is garbage

template <class T>
T read_at(const std::byte* base, std::uint64_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof value);
  return value;
}

/// True if [offset, offset + bytes) lies in an image of `extent` bytes.
bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t extent) {
  return offset <= extent && bytes <= extent - offset;
}

std::optional<std::vector<Elf64_Shdr>> read_sections(const std::byte* base) {
  if (std::memcmp(base, ELFMAG, SELFMAG) != 0) return std::nullopt;
  const auto header = read_at<Elf64_Ehdr>(base, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  if (header.e_machine != kMachineCuda) return std::nullopt;
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  if (!fits(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), kMaxImageBytes)) return std::nullopt;
  std::vector<Elf64_Shdr> sections;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    sections.push_back(read_at<Elf64_Shdr>(base, header.e_shoff + i * sizeof(Elf64_Shdr)));
  }
  return sections;
}

int sm_of(const std::byte* base) {
  const auto header = read_at<Elf64_Ehdr>(base, 0);
  const unsigned shift = header.e_ident[EI_ABIVERSION] >= kAbiWithWideArch ? 8 : 0;
  return static_cast<int>((header.e_flags >> shift) & 0xffu);
}

/// The size that the file's headers claim: the end of the last section or of the section headers, whichever is later.
std::optional<std::uint64_t> extent_of(const std::byte* base, const std::vector<Elf64_Shdr>& sections) {
  std::uint64_t extent = read_at<Elf64_Ehdr>(base, 0).e_shoff + sections.size() * sizeof(Elf64_Shdr);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
    if (!fits(section.sh_offset, section.sh_size, kMaxImageBytes)) return std::nullopt;
    extent = std::max(extent, section.sh_offset + section.sh_size);
  }
  return extent;
}

/// The string at `index` of a string table; nullopt if it does not end inside the table.
std::optional<std::string> string_at(const std::byte* base, const Elf64_Shdr& table, std::uint64_t index) {
  if (index >= table.sh_size) return std::nullopt;
  const char* text = reinterpret_cast<const char*>(base + table.sh_offset + index);
  const std::size_t limit = table.sh_size - index;
  const std::size_t length = strnlen(text, limit);
  if (length == limit) return std::nullopt;
  return std::string(text, length);
}

}  // namespace

std::optional<ElfSymbols> read_elf_symbols(const void* image) {
  const auto* base = static_cast<const std::byte*>(image);
  const auto sections = read_sections(base);
  if (!sections) return std::nullopt;
  const auto extent = extent_of(base, *sections);
  if (!extent) return std::nullopt;
  ElfSymbols symbols;
  symbols.sm = sm_of(base);
  for (const Elf64_Shdr& section : *sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (section.sh_link >= sections->size() || section.sh_entsize != sizeof(Elf64_Sym)) return std::nullopt;
    const Elf64_Shdr& strings = (*sections)[section.sh_link];
    if (strings.sh_type != SHT_STRTAB || !fits(strings.sh_offset, strings.sh_size, *extent)) return std::nullopt;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(base, section.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      const auto name = string_at(base, strings, symbol.st_name);
      if (!name) return std::nullopt;
      symbols.functions.insert(*name);
    }
  }
  return symbols;
}

}  // namespace hotgemm::standin
