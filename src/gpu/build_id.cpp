#include "gpu/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <filesystem>

namespace hotgemm {
namespace {

struct Query {
  const std::string& path;
  std::string id;
};

std::string hex(const unsigned char* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

/// Looks for NT_GNU_BUILD_ID in one PT_NOTE segment.
std::string find_note(const char* note, std::size_t size) {
  const char* end = note + size;
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* name = note + sizeof header;
    const char* content = name + (header.n_namesz + 3) / 4 * 4;
    note = content + (header.n_descsz + 3) / 4 * 4;
    if (note > end) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      return hex(reinterpret_cast<const unsigned char*>(content), header.n_descsz);
    }
  }
  return {};
}

int visit(dl_phdr_info* info, std::size_t, void* argument) {
  Query& query = *static_cast<Query*>(argument);
  if (query.path != info->dlpi_name) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    query.id = find_note(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!query.id.empty()) return 1;
  }
  return 1;
}

}  // namespace

std::string build_id_of(const std::string& path) {
  Query query{path, {}};
  dl_iterate_phdr(visit, &query);
  if (!query.id.empty()) return query.id;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return "size" + std::to_string(error ? 0 : size);
}

}  // namespace hotgemm
