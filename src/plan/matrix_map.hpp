#pragma once

#include "plan/kernel_config.hpp"
#include "plan/tensor_map_spec.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm {

/// The tensor map of a matrix, as far as config and traits fix it.
struct MatrixMap {
  TensorMapSpec fixed;  ///< without address, sizes and the stride of rows
  int tile_bytes;       ///< that the copies of a tile bring

  /// Of the matrix as stored at `base`.
  TensorMapSpec of(const void* base, std::int64_t rows, std::int64_t cols, std::int64_t ld) const;
};

/// The tensor maps of a kernel.
struct MatrixMaps {
  MatrixMap a;
  MatrixMap b;
  std::optional<MatrixMap> d;  ///< of kernels whose D the copy engine stores
  bool a_is_k_major;
  bool b_is_k_major;

  /// With boxes no taller than the matrix where its rows are m's, or n's. The copy engine takes longer for a row beyond
  /// the matrix than for one of it (docs/notebook/wgmma.md, 20), and what is left out of the tile would only have been
  /// multiplied into rows, or columns, beyond D's edge. Rows along k must be zeros there.
  TensorMapSpec of_a(const void* base, std::int64_t m, std::int64_t k, std::int64_t ld) const;
  TensorMapSpec of_b(const void* base, std::int64_t n, std::int64_t k, std::int64_t ld) const;
  /// WgmmaArgs::stage_bytes, with such maps.
  unsigned stage_bytes(const TensorMapSpec& of_a, const TensorMapSpec& of_b) const;
};

/// WgmmaArgs::prefetch: all of both operands, or nothing where that is more than 8 MiB, or 64 KiB for each of `blocks`,
/// or as much again lies between rows: then they come faster in the order in which tiles need them
/// (docs/notebook/wgmma.md, 19).
PrefetchBytes prefetch_bytes(const TensorMapSpec& a, const TensorMapSpec& b, std::int64_t blocks) noexcept;

/// nullopt for families that do not copy by tensor.
std::optional<MatrixMaps> matrix_maps(const KernelConfig& config, const GemmTraits& traits);

}  // namespace hotgemm
