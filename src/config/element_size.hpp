#pragma once

#include <hotgemm/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace hotgemm {

inline constexpr auto kElementSizes = [] {
  std::array<std::uint8_t, 256> sizes{};  // also of numbers that are no type
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = static_cast<std::uint8_t>(size_bytes(static_cast<DType>(i)));
  return sizes;
}();

/// size_bytes, from a table. A warm call asks ten times, and the compiler does not inline the switch over types.
constexpr int element_size(DType type) { return kElementSizes[static_cast<std::uint8_t>(type)]; }

}  // namespace hotgemm
