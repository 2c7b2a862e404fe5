#pragma once

#include "shared/arch_limits.hpp"
#include "shared/gemm_traits.hpp"

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotgemm::standin {

/// The box that a kernel expects a tensor map to copy at once.
struct ExpectedBox {
  std::uint32_t x, y;
  CUtensorMapSwizzle swizzle;
  bool leaves_rest = false;  ///< another map describes the remaining rows
};
struct ExpectedBoxes {
  ExpectedBox a, b;
  std::optional<ExpectedBox> d;  ///< only for kernels whose D the copy engine stores
  bool copies_a = true;          ///< false: threads load the operand, and it has no map
  bool copies_b = true;
};

/// The properties in the name of a GEMM kernel, "hotgemm_<config>_<traits>".
struct GemmKernel {
  GemmTraits traits;
  int block_m = 0;
  int block_n = 0;
  int cluster_m = 1;  ///< blocks in a cluster
  int cluster_n = 1;
  int blocks_per_sm = 0;               ///< persistent blocks per SM; 0 if each tile has its own block
  int threads = 0;                     ///< per block; 0 if a test's kernel is of no registered family
  int smem_bytes = 0;                  ///< dynamic shared memory that the kernel uses
  std::optional<ExpectedBoxes> boxes;  ///< for kernels with the parameter WgmmaArgs; others have GemmArgs
  int splits = 0;                      ///< blocks that share a tile; 0: another number, or only one
  bool splits_k = false;  ///< the grid has the same number of blocks for each tile, and each is a part of k
  bool takes_workspace() const { return splits > 0 || splits_k; }
  bool legal = true;  ///< true if the config is legal on some architecture; otherwise no compiler could have built it
};

enum class KernelKind { unknown, gemm, repack, fill, check, digest, pointwise };

/// A kernel, recognised by its symbol.
struct KernelSymbol {
  KernelKind kind = KernelKind::unknown;
  GemmKernel gemm;  ///< set if kind is gemm
};

KernelSymbol parse_kernel_symbol(std::string_view symbol);

}  // namespace hotgemm::standin
