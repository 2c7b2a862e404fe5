#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace hotgemm {

using ElfImage = std::vector<std::uint8_t>;

struct SectionText {
  std::string name;
  std::string bytes;
};

/// Makes an ELF file: header, section bytes, names, section headers.
inline ElfImage elf_of(const std::vector<SectionText>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  ElfImage image(sizeof(Elf64_Ehdr));
  const auto add = [&](const std::string& name, Elf64_Word type, const std::string& bytes) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = type;
    header.sh_offset = image.size();
    header.sh_size = bytes.size();
    headers.push_back(header);
    names += name + '\0';
    image.insert(image.end(), bytes.begin(), bytes.end());
  };
  for (const SectionText& section : sections) add(section.name, SHT_PROGBITS, section.bytes);
  add(".shstrtab", SHT_STRTAB, names + ".shstrtab" + '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = image.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::memcpy(image.data(), &header, sizeof header);
  const auto* first = reinterpret_cast<const std::uint8_t*>(headers.data());
  image.insert(image.end(), first, first + headers.size() * sizeof(Elf64_Shdr));
  return image;
}

}  // namespace hotgemm
