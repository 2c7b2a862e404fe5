#pragma once

#include "config/kernel_config.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hotgemm {

/// A rung of the ladder: a kernel of the material that hotgemm grew from, as a config of a template, or cuBLAS; and at
/// its end the kernels that came of them. A is not transposed.
struct Rung {
  std::string_view name;               ///< of the kernel in the material: "hgemm_mma_m16n8k16_naive"
  std::string_view label;              ///< of its row in the material's tables: "mma2x4+warp4x4+stage2+swizzle"
  std::optional<KernelConfig> config;  ///< none for cuBLAS
  DType element = DType::f16;
  Op op_b = Op::n;
  bool block_swizzle = false;  ///< blocks take the columns in strips (swizzle_stride)

  /// Not of the material.
  constexpr bool is_ours() const { return name.starts_with("hotgemm_"); }
};

/// All of them, from the slowest idea to the fastest. Several may be of one kernel of the material, with other stages.
std::span<const Rung> rungs();

/// Those that are called `name`, or have it as their label.
std::vector<Rung> find_rungs(std::string_view name);

/// Columns of a strip of the block swizzle: half of n, or a quarter of 4096 columns and more; n where that is too few.
std::int64_t swizzle_stride(std::int64_t n);

/// How a rung's kernel is launched over n columns: in strips of swizzle_stride, or row after row.
LaunchConfig ladder_launch(const Rung& rung, std::int64_t n);

}  // namespace hotgemm
