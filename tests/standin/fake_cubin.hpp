#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace hotgemm::standin {

/// The smallest ELF image that the stand-in accepts as a cubin: a symbol table of kernels and no code.
inline std::vector<std::uint8_t> fake_cubin(const std::vector<std::string>& symbols, int sm = 90) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> table(1);
  for (const std::string& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<Elf64_Word>(names.size());
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    entry.st_shndx = 1;
    table.push_back(entry);
    names += symbol + '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = 190;  // EM_CUDA
  header.e_flags = static_cast<Elf64_Word>(sm) << 8;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_type = SHT_SYMTAB;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = table.size() * sizeof(Elf64_Sym);
  sections[1].sh_entsize = sizeof(Elf64_Sym);
  sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + sections[1].sh_size;
  sections[2].sh_size = names.size();
  std::vector<std::uint8_t> image;
  const auto append = [&](const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    image.insert(image.end(), first, first + bytes);
  };
  append(&header, sizeof header);
  append(sections, sizeof sections);
  append(table.data(), table.size() * sizeof(Elf64_Sym));
  append(names.data(), names.size());
  return image;
}

}  // namespace hotgemm::standin
