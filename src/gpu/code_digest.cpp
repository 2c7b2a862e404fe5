#include "gpu/code_digest.hpp"

#include <elf.h>

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

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

std::optional<std::vector<Elf64_Shdr>> read_sections(Bytes image, const Elf64_Ehdr& header) {
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

/// The kind of section that the digest covers, from the start of the section's name; 0 for other sections. The rest of
/// the name is the kernel's. Bank 4 is a table of the addresses of variables: NVRTC keeps every constexpr member of a
/// template there, so that the table grows with the templates though no kernel reads it.
char kind_of(std::string_view name) {
  if (name.starts_with(".text.")) return 't';
  if (name == ".nv.constant4") return 0;
  if (name.starts_with(".nv.constant")) return 'c';
  return 0;
}

/// Appends the kind, the size and the bytes of a section. The size separates the bytes of neighbouring sections.
void append(std::vector<std::uint8_t>& hashed, char kind, Bytes bytes) {
  hashed.push_back(static_cast<std::uint8_t>(kind));
  for (int shift = 0; shift < 64; shift += 8) hashed.push_back(static_cast<std::uint8_t>(bytes.size() >> shift));
  hashed.insert(hashed.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::optional<Sha256> code_digest(Bytes image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header) return std::nullopt;
  const auto sections = read_sections(image, *header);
  if (!sections || header->e_shstrndx >= sections->size()) return std::nullopt;
  const Elf64_Shdr& table = (*sections)[header->e_shstrndx];
  const auto names = slice(image, table.sh_offset, table.sh_size);
  if (!names) return std::nullopt;

  std::vector<std::uint8_t> hashed;
  bool has_code = false;
  for (const Elf64_Shdr& section : *sections) {
    const auto name = name_at(*names, section.sh_name);
    if (!name) return std::nullopt;
    const char kind = kind_of(*name);
    if (kind == 0 || section.sh_type == SHT_NOBITS) continue;
    const auto bytes = slice(image, section.sh_offset, section.sh_size);
    if (!bytes) return std::nullopt;
    append(hashed, kind, *bytes);
    has_code = has_code || (kind == 't' && !bytes->empty());
  }
  if (!has_code) return std::nullopt;
  return sha256(hashed);
}

std::string kernel_digest(const Cubin& cubin) {
  const Sha256 code = code_digest(cubin.image).value_or(sha256(std::span<const std::uint8_t>(cubin.image)));
  return to_hex(sha256(cubin.symbol + ' ' + to_hex(code)));
}

}  // namespace hotgemm
