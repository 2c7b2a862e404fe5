#include "config/tensor_map_spec.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <string_view>

namespace hotgemm {
namespace {

constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 32;
constexpr std::uint32_t kMaxBox = 256;

void require(bool holds, std::string_view rule, std::uint64_t found) {
  if (!holds) throw Error(ErrorCode::invalid_argument, fmt::format("a tensor map needs {}, and not {}", rule, found));
}

}  // namespace

void validate(const TensorMapSpec& s) {
  require(s.rank >= 1 && s.rank <= kTensorMapRank, "1 to 5 dimensions", s.rank);
  require(s.base % kAlignment == 0, "an address that is a multiple of 16", s.base);
  const auto element_bytes = static_cast<std::uint64_t>(size_bytes(s.element));
  require(s.strides[0] == element_bytes, "elements side by side in dimension 0", s.strides[0]);
  for (std::size_t i = 0; i < s.rank; ++i) {
    require(s.sizes[i] >= 1 && s.sizes[i] <= kMaxDimension, "sizes of 1 to 2^32", s.sizes[i]);
    require(s.box[i] >= 1 && s.box[i] <= kMaxBox, "boxes of 1 to 256 elements a side", s.box[i]);
    if (i == 0) continue;
    require(s.strides[i] % kAlignment == 0, "strides that are multiples of 16 bytes", s.strides[i]);
    require(s.strides[i] < kMaxTensorStride, "strides below 2^40 bytes", s.strides[i]);
  }
  const std::uint64_t row_bytes = s.box[0] * element_bytes;
  require(row_bytes % kAlignment == 0, "rows of a box that are multiples of 16 bytes", row_bytes);
  if (s.swizzle != TensorSwizzle::none) {
    const std::uint64_t span = std::uint64_t{16} << static_cast<int>(s.swizzle);
    require(row_bytes <= span, fmt::format("rows of a box of at most {} bytes for this swizzle", span), row_bytes);
  }
}

}  // namespace hotgemm
