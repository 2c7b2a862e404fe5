#pragma once

#include "config/kernel_config.hpp"
#include "config/tensor_map_spec.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm {

/// The tensor map of a matrix, as far as config and traits fix it.
struct MatrixMap {
  TensorMapSpec fixed;  ///< without address, sizes and the stride of rows

  /// Of the matrix as stored at `base`.
  TensorMapSpec of(const void* base, std::int64_t rows, std::int64_t cols, std::int64_t ld) const;
};

/// The maps that copies of an operand take, each nullopt where none does: with whole boxes, and with boxes of the rows
/// that those leave over.
struct BoxMaps {
  std::optional<TensorMapSpec> whole;
  std::optional<TensorMapSpec> rest;
};
/// Of the operand that `spec` maps. Rows of one that is not k-major are k's: beyond the last one there must be zeros,
/// as whole boxes bring them.
BoxMaps box_maps(const TensorMapSpec& spec, bool is_k_major) noexcept;

/// The tensor maps of a kernel.
struct MatrixMaps {
  MatrixMap a;
  MatrixMap b;
  std::optional<MatrixMap> d;  ///< of kernels whose D the copy engine stores
  bool a_is_k_major;
  bool b_is_k_major;

  TensorMapSpec of_a(const void* base, std::int64_t m, std::int64_t k, std::int64_t ld) const;
  TensorMapSpec of_b(const void* base, std::int64_t n, std::int64_t k, std::int64_t ld) const;
};

/// WgmmaArgs::prefetch: all of each operand whose rows follow each other without gaps. Nothing where that is more than
/// 8 MiB, or 64 KiB for each of `blocks`: then operands come faster in the order in which tiles need them
/// (docs/notebook/wgmma.md, 19).
PrefetchBytes prefetch_bytes(const TensorMapSpec& a, const TensorMapSpec& b, std::int64_t blocks) noexcept;

/// nullopt for families that do not copy by tensor.
std::optional<MatrixMaps> matrix_maps(const KernelConfig& config, const GemmTraits& traits);

}  // namespace hotgemm
