#pragma once

#include "config/tensor_map_spec.hpp"
#include "shared/tensor_map.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace hotgemm::emulate {

/// The emulated device's tensor map: the spec itself. Throws what validate throws.
TensorMap encode(const TensorMapSpec& spec);
/// Its inverse; nullopt for bytes that `encode` has not made.
std::optional<TensorMapSpec> decode(const TensorMap& map);

/// Where the element at `coordinates` lies, one for each dimension; nullopt outside of the tensor, where a copy brings
/// zeros.
std::optional<std::uint64_t> element_address(const TensorMapSpec& spec, std::span<const std::int64_t> coordinates);

/// Where byte `offset` of a box is put, counted from the 128-byte row that shared memory is swizzled from: chunk bits
/// 4 to 6 are XORed with as many of bits 7 to 9 as the swizzle has.
constexpr std::uint32_t swizzled(TensorSwizzle swizzle, std::uint32_t offset) {
  const std::uint32_t span = (1u << static_cast<int>(swizzle)) - 1;
  return offset ^ ((offset >> 7 & span) << 4);
}

}  // namespace hotgemm::emulate
