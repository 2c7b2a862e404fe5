#pragma once

#include "shared/ragged_map.hpp"

#include <hotgemm/types.hpp>

#include <array>
#include <cstdint>

namespace hotgemm {

inline constexpr int kTensorMapRank = 5;                                   ///< at most
inline constexpr std::uint64_t kMaxTensorStride = std::uint64_t{1} << 40;  ///< bytes; strides must be below it
inline constexpr std::uint64_t kMaxRaggedStride = kRaggedBytes;            ///< likewise, of rows that groups divide

/// The span, in bytes, within which the 16-byte chunks of a box are permuted in shared memory.
enum class TensorSwizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// The content of a tensor map: all that a bulk copy needs to know about a tensor in global memory. Dimension 0 is
/// contiguous. In src/gpu the driver encodes it; the emulated device uses it directly.
struct TensorMapSpec {
  std::uint64_t base = 0;
  DType element = DType::f16;
  TensorSwizzle swizzle = TensorSwizzle::none;
  std::uint8_t rank = 2;
  std::array<std::uint64_t, kTensorMapRank> sizes{};    ///< in elements
  std::array<std::uint64_t, kTensorMapRank> strides{};  ///< in bytes; the stride of dimension 0 is the element's size
  std::array<std::uint32_t, kTensorMapRank> box{};      ///< in elements: the box that one copy transfers

  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

/// Throws Error{invalid_argument} that names the first rule of cuTensorMapEncodeTiled broken by `spec`.
void validate(const TensorMapSpec& spec);

}  // namespace hotgemm
