#pragma once

#include "gpu/elf_file.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace hotgemm {

/// All names of symbols. Those of variables are among them. They point into the image of the sections.
inline std::set<std::string_view> names_in(const std::vector<ElfSection>& sections) {
  const ElfBytes texts = std::ranges::find(sections, ".strtab", &ElfSection::name)->bytes;
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < texts.size(); at += elf_text_at(texts, at)->size() + 1) {
    names.insert(*elf_text_at(texts, at));
  }
  return names;
}

}  // namespace hotgemm
