#include "gpu/code_digest.hpp"

#include "gpu/elf_file.hpp"

#include <string_view>
#include <vector>

namespace hotgemm {
namespace {

using Bytes = ElfBytes;

/// The kind of section that the digest covers, from the start of the section's name; 0 for other sections. The rest of
/// the name is the kernel's. Bank 4 is a table of the addresses of variables: NVRTC keeps every constexpr member of a
/// template there, so that the table grows with the templates though no kernel reads it.
char section_kind(std::string_view name) {
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
  const auto sections = elf_sections(image);
  if (!sections) return std::nullopt;

  std::vector<std::uint8_t> hashed;
  bool has_code = false;
  for (const ElfSection& section : *sections) {
    const char kind = section_kind(section.name);
    if (kind == 0 || section.header.sh_type == SHT_NOBITS) continue;
    append(hashed, kind, section.bytes);
    has_code = has_code || (kind == 't' && !section.bytes.empty());
  }
  if (!has_code) return std::nullopt;
  return sha256(hashed);
}

std::string kernel_digest(const Cubin& cubin) {
  const Sha256 code = code_digest(cubin.image).value_or(sha256(std::span<const std::uint8_t>(cubin.image)));
  return to_hex(sha256(cubin.symbol + ' ' + to_hex(code)));
}

}  // namespace hotgemm
