#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm {

/// SHA-256 over labelled, length-prefixed fields. `text` holds these fields as plain text, to be stored and compared.
struct Identity {
  std::array<std::uint8_t, 32> digest{};
  std::string text;

  std::string hex() const;  ///< 64 lower-case digits
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// The variables in global memory that a cubin keeps: all that NVRTC makes, or, where slim cubins are proven, none if
/// no instruction reads one (gpu/slim_cubin.hpp).
enum class GlobalVariables { read, all };

/// A translation unit that is ready for NVRTC.
struct KernelSource {
  std::string symbol;                ///< the name of the extern "C" kernel
  std::string text;                  ///< about ten lines
  std::vector<std::string> options;  ///< options of NVRTC, in order
  Identity identity;
  std::string function;  ///< the text of kFunctionHeader, if the unit includes it: an epilogue's function
  GlobalVariables variables = GlobalVariables::read;  ///< no part of the identity: the kernel is the same
};

/// A compiled kernel, from the compiler or from the cache.
struct Cubin {
  std::vector<std::uint8_t> image;  ///< an ELF file for one real architecture
  std::string symbol;
  std::string arch;       ///< "sm_90a"
  std::string toolchain;  ///< "nvrtc-13.0-<build id>"
  int registers = 0;
  int spill_bytes = 0;  ///< stores and loads together, as ptxas reports them
  int static_smem_bytes = 0;
  double compile_ms = 0;  ///< CPU time of the compiling thread
  friend bool operator==(const Cubin&, const Cubin&) = default;
};

}  // namespace hotgemm
