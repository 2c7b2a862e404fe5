#pragma once

#include "config/kernel_config.hpp"
#include "config/tensor_map_spec.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm {

/// The matrices of a batch that one operand has: `count` of them, `stride` elements apart; 0 if there is only one,
/// which all products share.
struct MatrixBatch {
  std::int64_t count = 1;
  std::int64_t stride = 0;
};

/// The matrices that a tensor map is of.
enum class MatrixKind : std::uint8_t {
  one,
  numbered,  ///< those of a batch: in a third dimension
  divided,   ///< one, whose rows groups divide: four dimensions (shared/ragged_map.hpp)
  anywhere,  ///< any at all: four dimensions, of all addresses (shared/address_place.hpp)
};

/// The part of a matrix's tensor map that config and traits determine.
struct MatrixMap {
  MatrixKind kind = MatrixKind::one;
  TensorMapSpec fixed;  ///< no address, no sizes, and no stride of rows
  /// The complete map of a matrix stored at `base`, or of a batch that begins there.
  TensorMapSpec of(const void* base, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                   const MatrixBatch& batch = {}) const;
};

/// The maps for the copies of one operand: `whole` for whole boxes, `rest` for boxes of the rows that whole boxes leave
/// over. A map is nullopt if no copy uses it.
struct BoxMaps {
  std::optional<TensorMapSpec> whole;
  std::optional<TensorMapSpec> rest;
};
/// The maps for the operand that `spec` maps. If the operand is not k-major, its rows run along k. Then whole boxes
/// cover all rows, because the copy must write zeros beyond the last one.
BoxMaps box_maps(const TensorMapSpec& spec, bool is_k_major) noexcept;

/// The tensor maps for all operands of a kernel. The maps of an operand that is not copied are never encoded.
struct MatrixMaps {
  MatrixMap a;
  MatrixMap b;
  std::optional<MatrixMap> d;  ///< set if the copy engine stores D
  bool a_is_k_major;
  bool b_is_k_major;
  bool cuts_a = true;  ///< boxes of A end with its rows; false if tiles may begin at any row, or in a square of blocks
  bool cuts_b = true;  ///< likewise of B
  bool copies_a = true;  ///< false if threads load the operand, whose rows no map can describe
  bool copies_b = true;

  TensorMapSpec of_a(const void* base, std::int64_t m, std::int64_t k, std::int64_t ld,
                     const MatrixBatch& batch = {}) const;
  TensorMapSpec of_b(const void* base, std::int64_t n, std::int64_t k, std::int64_t ld,
                     const MatrixBatch& batch = {}) const;
};

/// The value of WgmmaArgs::prefetch: all bytes of each operand whose rows follow each other without gaps. It is nothing
/// if these have more than 8 MiB, or more than 64 KiB for each of `blocks`. Then the operands arrive faster in the
/// order in which tiles need them (docs/notebook/wgmma.md, 19).
PrefetchBytes prefetch_bytes(const TensorMapSpec& a, const TensorMapSpec& b, std::int64_t blocks) noexcept;

/// nullopt for families that do not copy by tensor map.
std::optional<MatrixMaps> matrix_maps(const KernelConfig& config, const GemmTraits& traits);

}  // namespace hotgemm
