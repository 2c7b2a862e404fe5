#pragma once

#include "config/kernel_config.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A rung of the ladder: cuBLAS, or a kernel of the learning material that hotgemm started from, as a config of a
/// template. The last rungs are kernels that hotgemm developed from them. A is not transposed.
struct Rung {
  std::string_view name;               ///< of the kernel in the material: "hgemm_mma_m16n8k16_naive"
  std::string_view label;              ///< in the material's tables: "mma2x4+warp4x4+stage2+swizzle"
  std::optional<KernelConfig> config;  ///< empty for cuBLAS
  DType element = DType::f16;
  Op op_b = Op::n;
  bool block_swizzle = false;  ///< true if blocks run over the columns in strips (swizzle_stride)

  /// True for a kernel that is not in the material.
  constexpr bool is_ours() const { return name.starts_with("hotgemm_"); }
};

/// All rungs, from the slowest idea to the fastest. Several rungs may stand for one kernel of the material with
/// different numbers of stages.
std::span<const Rung> rungs();

/// The rungs whose name or label is `name`.
std::vector<Rung> find_rungs(std::string_view name);

/// Columns in one strip of the block swizzle: n / 2, or n / 4 from 4096 columns on; n if that would be too few.
std::int64_t swizzle_stride(std::int64_t n);

/// The launch config of a rung for n columns: blocks run in strips of swizzle_stride columns, or row after row.
LaunchConfig ladder_launch(const Rung& rung, std::int64_t n);

}  // namespace hotgemm
