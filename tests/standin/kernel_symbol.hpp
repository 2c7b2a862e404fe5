#pragma once

#include "shared/arch_limits.hpp"
#include "shared/gemm_traits.hpp"

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotgemm::standin {

/// What a kernel expects a tensor map to bring at once.
struct ExpectedBox {
  std::uint32_t x, y;
  CUtensorMapSwizzle swizzle;
  bool leaves_rest = false;  ///< rows for which there is another map
};
struct ExpectedBoxes {
  ExpectedBox a, b;
  std::optional<ExpectedBox> d;  ///< of kernels whose D the copy engine stores
};

/// What the name of a GEMM kernel says: "hotgemm_<config>_<traits>".
struct GemmKernel {
  GemmTraits traits;
  int block_m = 0;
  int block_n = 0;
  int cluster_m = 1;  ///< blocks in a cluster
  int cluster_n = 1;
  int blocks_per_sm = 0;               ///< of blocks that take tile after tile; 0 where there is one for each tile
  int threads = 0;                     ///< of a block
  int smem_bytes = 0;                  ///< dynamic shared memory that the kernel uses
  std::optional<ExpectedBoxes> boxes;  ///< of kernels whose parameter is WgmmaArgs; others have GemmArgs
  bool legal = true;  ///< on some architecture; a kernel whose config is not could not have been compiled
};

enum class KernelKind { unknown, gemm, fill, check, digest };

/// A kernel, recognised by its symbol.
struct KernelSymbol {
  KernelKind kind = KernelKind::unknown;
  GemmKernel gemm;  ///< of kind gemm
};

KernelSymbol parse_kernel_symbol(std::string_view symbol);

}  // namespace hotgemm::standin
