#pragma once

#include <optional>
#include <set>
#include <string>

namespace hotgemm::standin {

/// What the stand-in keeps of a cubin.
struct ElfSymbols {
  std::set<std::string> functions;  ///< defined symbols of type STT_FUNC
  int sm = 0;                       ///< 10 * major + minor of the architecture that it was compiled for
};

/// Reads the symbol table of a 64-bit little-endian ELF image for CUDA; nullopt if it is none, or if a table or name
/// lies outside the extent that its own section headers span. The driver's interface passes no length, so that an image
/// that is shorter than its headers say cannot be told apart, here as there.
std::optional<ElfSymbols> read_elf_symbols(const void* image);

}  // namespace hotgemm::standin
