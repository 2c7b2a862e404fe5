#include "gpu/slim_cubin.hpp"

#include "gpu/elf_file.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace hotgemm {
namespace {

using Image = std::vector<std::uint8_t>;
using Sections = std::vector<ElfSection>;

/// Data of the GPU's global memory, with a value and without; and bank 4, which holds its addresses.
constexpr std::string_view kAddresses = ".nv.constant4";
constexpr std::string_view kVariableSections[] = {".nv.global.init", ".nv.global", kAddresses};

/// The sections that a cubin may have. An entry with a dot at its end stands for all names that begin so.
constexpr std::string_view kKnownSections[] = {".shstrtab",     ".strtab",       ".symtab",        ".debug_frame",
                                               ".nv.info",      ".nv.info.",     ".nv.compat",     ".nv.callgraph",
                                               ".note.nv.",     ".rel.",         ".rela.",         ".nv.rel.action",
                                               ".text.",        ".nv.shared.",   ".nv.constant0.", ".nv.constant2.",
                                               ".nv.constant3", ".nv.constant4", ".nv.global",     ".nv.global.init"};

constexpr std::uint64_t kMostAlignment = 4096;

bool is_known(const ElfSection& section) {
  const auto is_alike = [&](std::string_view known) {
    return known.ends_with('.') ? section.name.starts_with(known) : section.name == known;
  };
  return section.name.empty() || std::ranges::any_of(kKnownSections, is_alike);
}

bool is_relocation(const ElfSection& section) {
  return section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELA;
}

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return alignment < 2 ? offset : (offset + alignment - 1) / alignment * alignment;
}

template <class T>
void append(Image& image, const T& value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  image.insert(image.end(), bytes, bytes + sizeof value);
}

/// A cubin in parts. Sections keep their numbers, and symbols too, since the cubin refers to both by number.
class CubinParts {
 public:
  /// False if the image cannot be read.
  bool read(ElfBytes image) {
    const auto header = elf_value_at<Elf64_Ehdr>(image, 0);
    const auto sections = elf_sections(image);
    if (!header || !sections || header->e_phentsize != sizeof(Elf64_Phdr)) return false;
    const auto segments = elf_values_at<Elf64_Phdr>(image, header->e_phoff, header->e_phnum);
    const auto table = std::ranges::find(*sections, ".symtab", &ElfSection::name);
    if (!segments || table == sections->end() || table->header.sh_link >= sections->size()) return false;
    if (table->header.sh_link == header->e_shstrndx) return false;  // the names of sections stay
    const auto symbols = elf_values_at<Elf64_Sym>(table->bytes, 0, table->bytes.size() / sizeof(Elf64_Sym));
    header_ = *header;
    sections_ = *sections;
    segments_ = *segments;
    symbols_ = *symbols;
    symbol_table_ = static_cast<std::size_t>(table - sections->begin());
    names_ = table->header.sh_link;
    return true;
  }

  /// Chooses the sections that go. False if there are none, or if what stays refers to them.
  bool drop_variables(const std::set<std::string_view>& unread) {
    const auto is_usual = [](const ElfSection& section) {
      return is_known(section) && section.header.sh_addralign <= kMostAlignment;
    };
    if (!std::ranges::all_of(sections_, is_usual)) return false;
    is_dropped_.assign(sections_.size(), false);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      is_dropped_[i] = std::ranges::find(kVariableSections, sections_[i].name) != std::end(kVariableSections);
    }
    if (std::ranges::find(is_dropped_, true) == is_dropped_.end()) return false;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!is_relocation(sections_[i])) continue;
      if (sections_[i].header.sh_info >= sections_.size()) return false;
      is_dropped_[i] = is_dropped_[sections_[i].header.sh_info];
      if (!relocates_alike(sections_[i], is_dropped_[i])) return false;
    }
    if (!has_addresses_alone() || has_link_to_dropped()) return false;
    return std::ranges::all_of(symbols_, [&](const Elf64_Sym& symbol) {
      const auto name = name_of(symbol);
      return name && (!is_dropped(symbol) || ELF64_ST_TYPE(symbol.st_info) == STT_SECTION || unread.contains(*name));
    });
  }

  /// The image of what stays.
  Image write() {
    Image image(sizeof(Elf64_Ehdr));
    const Image names = write_names();
    const Elf64_Shdr none{};
    std::vector<Elf64_Shdr> headers;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      headers.push_back(is_dropped_[i] ? none : sections_[i].header);
      if (is_dropped_[i] || headers[i].sh_type == SHT_NULL) continue;
      image.resize(aligned(image.size(), headers[i].sh_addralign));
      headers[i].sh_offset = image.size();
      if (i == names_) {
        image.insert(image.end(), names.begin(), names.end());
      } else if (i == symbol_table_) {
        for (const Elf64_Sym& symbol : symbols_) append(image, symbol);
      } else {
        image.insert(image.end(), sections_[i].bytes.begin(), sections_[i].bytes.end());
      }
      if (headers[i].sh_type != SHT_NOBITS) headers[i].sh_size = image.size() - headers[i].sh_offset;
    }
    image.resize(aligned(image.size(), alignof(Elf64_Shdr)));
    header_.e_shoff = image.size();
    for (const Elf64_Shdr& header : headers) append(image, header);
    write_segments(image, headers);
    std::memcpy(image.data(), &header_, sizeof header_);
    return image;
  }

 private:
  bool is_dropped(const Elf64_Sym& symbol) const {
    return symbol.st_shndx < is_dropped_.size() && is_dropped_[symbol.st_shndx];
  }
  std::optional<std::string_view> name_of(const Elf64_Sym& symbol) const {
    return elf_text_at(sections_[names_].bytes, symbol.st_name);
  }

  /// True if each entry of bank 4 is the address of a variable, which a relocation fills in. Code reads this bank by
  /// offset, so that no relocation would tell of another entry.
  bool has_addresses_alone() const {
    std::uint64_t bytes = 0, addresses = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].name == kAddresses) bytes += sections_[i].header.sh_size;
      if (!is_dropped_[i] || !is_relocation(sections_[i])) continue;
      if (sections_[sections_[i].header.sh_info].name != kAddresses) continue;
      addresses += sections_[i].bytes.size() / std::max<std::uint64_t>(sections_[i].header.sh_entsize, 1);
    }
    return bytes == addresses * sizeof(Elf64_Addr);
  }

  /// True if a section that stays names one that goes.
  bool has_link_to_dropped() const {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& header = sections_[i].header;
      if (is_dropped_[i]) continue;
      const bool has_info = (header.sh_flags & SHF_INFO_LINK) != 0;
      if (header.sh_link >= sections_.size() || is_dropped_[header.sh_link]) return true;
      if (has_info && (header.sh_info >= sections_.size() || is_dropped_[header.sh_info])) return true;
    }
    return false;
  }

  /// True if the symbols of all relocations lie in dropped sections, or none does.
  bool relocates_alike(const ElfSection& relocations, bool in_dropped) const {
    const std::size_t size = relocations.header.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    if (relocations.header.sh_entsize != size) return relocations.bytes.empty();
    for (std::size_t at = 0; at < relocations.bytes.size(); at += size) {
      const auto entry = elf_value_at<Elf64_Rel>(relocations.bytes, at);
      if (!entry || ELF64_R_SYM(entry->r_info) >= symbols_.size()) return false;
      if (is_dropped(symbols_[ELF64_R_SYM(entry->r_info)]) != in_dropped) return false;
    }
    return true;
  }

  /// Empties the symbols of dropped sections, as ptxas marks a symbol without use. Returns the names of the others.
  Image write_names() {
    Image names{0};
    for (Elf64_Sym& symbol : symbols_) {
      const std::string_view name = name_of(symbol).value_or(std::string_view());
      if (is_dropped(symbol)) {
        symbol = {.st_name = 0,
                  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE),
                  .st_other = STV_INTERNAL,
                  .st_shndx = SHN_UNDEF,
                  .st_value = 0,
                  .st_size = 0};
        continue;
      }
      symbol.st_name = name.empty() ? 0 : static_cast<Elf64_Word>(names.size());
      if (name.empty()) continue;
      names.insert(names.end(), name.begin(), name.end());
      names.push_back(0);
    }
    return names;
  }

  /// Appends the segments that still have sections, and those that hold the table of segments itself.
  void write_segments(Image& image, const std::vector<Elf64_Shdr>& headers) {
    const Elf64_Off before = header_.e_phoff;
    header_.e_phoff = image.size();
    std::vector<std::pair<Elf64_Phdr, bool>> kept;
    for (Elf64_Phdr segment : segments_) {
      const bool is_table = segment.p_offset == before;
      if (is_table || fit(segment, headers)) kept.emplace_back(segment, is_table);
    }
    for (auto& [segment, is_table] : kept) {
      if (is_table) {
        segment.p_offset = header_.e_phoff;
        segment.p_filesz = segment.p_memsz = kept.size() * sizeof(Elf64_Phdr);
      }
      append(image, segment);
    }
    header_.e_phnum = static_cast<Elf64_Half>(kept.size());
  }

  /// Moves a segment to where its sections lie now. False if none is left.
  bool fit(Elf64_Phdr& segment, const std::vector<Elf64_Shdr>& headers) const {
    std::optional<Elf64_Off> first;
    Elf64_Off last = 0;
    Elf64_Xword empty_bytes = 0;  // in memory, and not in the file
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (is_dropped_[i] || !is_part(sections_[i].header, segment)) continue;
      if (!first) first = headers[i].sh_offset;
      if (headers[i].sh_type == SHT_NOBITS) {
        empty_bytes += headers[i].sh_size;
      } else {
        last = headers[i].sh_offset + headers[i].sh_size;
      }
    }
    if (!first) return false;
    segment.p_offset = *first;
    segment.p_filesz = last > *first ? last - *first : 0;
    segment.p_memsz = segment.p_filesz + empty_bytes;
    return true;
  }

  /// True if the section is a part of the segment: its bytes lie there. Sections without bytes lie behind the others of
  /// a segment that may be written.
  static bool is_part(const Elf64_Shdr& section, const Elf64_Phdr& segment) {
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_offset < segment.p_offset) return false;
    const std::uint64_t at = section.sh_offset - segment.p_offset;
    if (section.sh_type != SHT_NOBITS) return at < segment.p_filesz;
    return at <= segment.p_filesz && (segment.p_flags & PF_W) != 0;
  }

  Elf64_Ehdr header_{};
  Sections sections_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<bool> is_dropped_;
  std::size_t symbol_table_ = 0, names_ = 0;
};

}  // namespace

std::optional<std::vector<std::uint8_t>> slim_cubin(std::span<const std::uint8_t> image,
                                                    const std::set<std::string_view>& unread) {
  CubinParts cubin;
  if (!cubin.read(image) || !cubin.drop_variables(unread)) return std::nullopt;
  return cubin.write();
}

}  // namespace hotgemm
