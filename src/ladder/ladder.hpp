#pragma once

#include "config/kernel_config.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The type of D and, unless a rung is asked for other sums, of sums: the material sums f16 in f16.
constexpr DType ladder_sums(DType element) {
  return element == DType::s8 ? DType::s32 : element == DType::tf32 ? DType::f32 : element;
}

/// The op of B in problems for rungs that state none: k is contiguous where `wgmma` and `dp4a` read no other layout.
constexpr Op ladder_op_b(DType element) { return element == DType::s8 || element == DType::tf32 ? Op::t : Op::n; }

/// A rung of the ladder: cuBLAS, or a kernel of the learning material that hotgemm started from, as a config of a
/// template. The last rungs are kernels that hotgemm developed from them. A is not transposed.
struct Rung {
  std::string_view name;               ///< of the kernel in the material: "hgemm_mma_m16n8k16_naive"
  std::string_view label;              ///< in the material's tables: "mma2x4+warp4x4+stage2+swizzle"
  std::optional<KernelConfig> config;  ///< empty for cuBLAS
  DType element = DType::f16;
  Op op_b = Op::n;
  bool block_swizzle = false;  ///< true if blocks run over the columns in strips (swizzle_stride)

  /// The traits of the rung's kernel for operands with the widest accesses.
  constexpr GemmTraits traits(DType accumulator) const {
    const DType element_d = ladder_sums(element);
    return {.element = element,
            .accumulator = accumulator,
            .element_d = element_d,
            .op_b = op_b,
            .vec_a = 16 / size_bytes(element),
            .vec_b = 16 / size_bytes(element),
            .vec_d = 16 / size_bytes(element_d)};
  }
  constexpr GemmTraits traits() const { return traits(ladder_sums(element)); }

  /// True if `wanted` is the rung's name or label, or what the material calls it (rung_name.hpp).
  bool is_called(std::string_view wanted) const;
  /// True for a kernel that is not in the material.
  constexpr bool is_ours() const { return name.starts_with("hotgemm_"); }
};

/// All rungs, from the slowest idea to the fastest. Several rungs may stand for one kernel of the material with
/// different numbers of stages.
std::span<const Rung> rungs();

/// The rungs that `name` names: several, if it is the name of a kernel with several numbers of stages.
std::vector<Rung> find_rungs(std::string_view name);

/// Columns in one strip of the block swizzle: n / 2, or n / 4 from 4096 columns on; n if that would be too few.
std::int64_t swizzle_stride(std::int64_t n);

/// The launch config of a rung for n columns: blocks run in strips of swizzle_stride columns, or row after row.
LaunchConfig ladder_launch(const Rung& rung, std::int64_t n);
/// A launch of a rung whose blocks run in strips of so many columns.
LaunchConfig strip_launch(const Rung& rung, std::int64_t columns);

}  // namespace hotgemm
