#pragma once

#include "arch_limits.hpp"
#include "gemm_traits.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hotgemm::standin {

/// What the name of a GEMM kernel says: "hotgemm_<config>_<traits>".
struct GemmKernel {
  GemmTraits traits;
  int block_m = 0;
  int block_n = 0;
  int threads = 0;     ///< of a block; 0 where the family is not known here
  int smem_bytes = 0;  ///< dynamic shared memory that the kernel uses
  bool legal = true;   ///< on some architecture; a kernel whose config is not could not have been compiled
};

enum class KernelKind { unknown, gemm, fill, check, digest };

/// A kernel, recognised by its symbol.
struct KernelSymbol {
  KernelKind kind = KernelKind::unknown;
  GemmKernel gemm;  ///< of kind gemm
};

KernelSymbol parse_kernel_symbol(std::string_view symbol);

}  // namespace hotgemm::standin
