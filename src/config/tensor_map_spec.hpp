#pragma once

#include <hotgemm/types.hpp>

#include <array>
#include <cstdint>

namespace hotgemm {

inline constexpr int kTensorMapRank = 5;                                   ///< at most
inline constexpr std::uint64_t kMaxTensorStride = std::uint64_t{1} << 40;  ///< bytes; strides must be below it

/// How the 16-byte chunks of a box's rows are permuted in shared memory: within rows of so many bytes.
enum class TensorSwizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// The value behind a tensor map: what a bulk copy by tensor needs to know of a tensor in global memory. Dimension 0
/// is the contiguous one. src/gpu has the driver encode it; the emulated device keeps it as it is.
struct TensorMapSpec {
  std::uint64_t base = 0;
  DType element = DType::f16;
  TensorSwizzle swizzle = TensorSwizzle::none;
  std::uint8_t rank = 2;
  std::array<std::uint64_t, kTensorMapRank> sizes{};    ///< in elements
  std::array<std::uint64_t, kTensorMapRank> strides{};  ///< in bytes; that of dimension 0 is the element's size
  std::array<std::uint32_t, kTensorMapRank> box{};      ///< in elements: what one copy brings

  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

/// Throws Error{invalid_argument} that names the first rule of cuTensorMapEncodeTiled that `spec` breaks.
void validate(const TensorMapSpec& spec);

}  // namespace hotgemm
