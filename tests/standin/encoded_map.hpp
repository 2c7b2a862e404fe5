#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace hotgemm::standin {

/// The stand-in's encoding of a tensor map: the arguments.
struct EncodedMap {
  static constexpr std::uint64_t kMark = 0x70616d2d65736e65;  // marks memory that holds a map

  std::uint64_t mark = kMark;
  std::uint64_t address = 0;
  std::uint64_t sizes[5] = {};
  std::uint64_t strides[4] = {};  ///< in bytes, from dimension 1 on
  std::uint32_t box[5] = {};
  std::uint32_t rank = 0;
  CUtensorMapDataType type{};
  CUtensorMapSwizzle swizzle{};
};
static_assert(sizeof(EncodedMap) <= sizeof(CUtensorMap) && std::is_trivially_copyable_v<EncodedMap>);

inline void write(const EncodedMap& from, CUtensorMap* to) {
  *to = CUtensorMap{};
  std::memcpy(to, &from, sizeof from);
}

/// Returns nullopt for memory that does not hold an encoded map.
inline std::optional<EncodedMap> read_map(const void* bytes) {
  EncodedMap map;
  std::memcpy(&map, bytes, sizeof map);
  if (map.mark != EncodedMap::kMark) return std::nullopt;
  return map;
}

}  // namespace hotgemm::standin
