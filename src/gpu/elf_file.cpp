#include "gpu/elf_file.hpp"

namespace hotgemm {
namespace {

std::optional<ElfBytes> slice(ElfBytes image, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) return ElfBytes{};
  if (section.sh_offset > image.size() || section.sh_size > image.size() - section.sh_offset) return std::nullopt;
  return image.subspan(section.sh_offset, section.sh_size);
}

}  // namespace

std::optional<std::string_view> elf_text_at(ElfBytes table, std::uint64_t index) {
  if (index >= table.size()) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(table.data() + index);
  const std::size_t limit = table.size() - index;
  const std::size_t length = strnlen(text, limit);
  if (length == limit) return std::nullopt;
  return std::string_view(text, length);
}

std::optional<std::vector<ElfSection>> elf_sections(ElfBytes image) {
  const auto header = elf_value_at<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  const auto headers = elf_values_at<Elf64_Shdr>(image, header->e_shoff, header->e_shnum);
  if (!headers || header->e_shstrndx >= headers->size()) return std::nullopt;
  const auto names = slice(image, (*headers)[header->e_shstrndx]);
  if (!names) return std::nullopt;

  std::vector<ElfSection> sections;
  for (const Elf64_Shdr& section : *headers) {
    const auto name = elf_text_at(*names, section.sh_name);
    const auto bytes = slice(image, section);
    if (!name || !bytes) return std::nullopt;
    sections.push_back({*name, section, *bytes});
  }
  return sections;
}

}  // namespace hotgemm
