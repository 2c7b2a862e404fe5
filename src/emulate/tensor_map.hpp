#pragma once

#include "config/tensor_map_spec.hpp"
#include "shared/tensor_map.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace hotgemm::emulate {

/// The emulated device's tensor map contains the spec itself. Throws the errors of validate.
TensorMap encode(const TensorMapSpec& spec);
/// Inverse of encode; nullopt for bytes that `encode` did not write.
std::optional<TensorMapSpec> decode(const TensorMap& map);

/// The address of the element at `coordinates`, one for each dimension; nullopt outside of the tensor, where a copy
/// reads zeros.
std::optional<std::uint64_t> element_address(const TensorMapSpec& spec, std::span<const std::int64_t> coordinates);

/// The place of byte `offset` of a box, counted from the start of the 128-byte row from which shared memory is
/// swizzled. Chunk bits 4 to 6 are XORed with bits 7 to 9, as many of them as the swizzle has.
constexpr std::uint32_t swizzled(TensorSwizzle swizzle, std::uint32_t offset) {
  const std::uint32_t span = (1u << static_cast<int>(swizzle)) - 1;
  return offset ^ ((offset >> 7 & span) << 4);
}

}  // namespace hotgemm::emulate
