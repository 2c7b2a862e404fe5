#pragma once

#include <optional>
#include <set>
#include <string>

namespace hotgemm::standin {

/// The facts about a cubin that the stand-in keeps.
struct ElfSymbols {
  std::set<std::string> functions;  ///< defined symbols of type STT_FUNC
  int sm = 0;                       ///< 10 * major + minor of the architecture that it was compiled for
};

/// Reads the symbol table of a 64-bit little-endian ELF image for CUDA. Returns nullopt for any other image, and if a
/// table or name lies outside the size that the section headers claim. The driver's interface passes no length, so an
/// image that is shorter than its headers say cannot be recognised, neither by the driver nor here.
std::optional<ElfSymbols> read_elf_symbols(const void* image);

}  // namespace hotgemm::standin
