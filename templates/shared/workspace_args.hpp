#pragma once

namespace hotgemm {

/// The second parameter of a kernel that takes a workspace. Other kernels have only one parameter, GemmArgs or their
/// family's own.
struct WorkspaceArgs {
  unsigned long long scratch = 0;   ///< address of memory with any content; a multiple of 256
  unsigned long long counters = 0;  ///< address of 32-bit numbers that are zero; the kernel leaves them zero
};

}  // namespace hotgemm
