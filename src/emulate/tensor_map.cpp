#include "emulate/tensor_map.hpp"

#include <cstring>
#include <type_traits>

namespace hotgemm::emulate {
namespace {

struct Contents {
  std::uint64_t mark;
  TensorMapSpec spec;
};
static_assert(sizeof(Contents) <= sizeof(TensorMap) && std::is_trivially_copyable_v<Contents>);

constexpr std::uint64_t kMark = 0x70616d5f65736e74u;  // not an address and not zero: marks memory that holds a map

}  // namespace

TensorMap encode(const TensorMapSpec& spec) {
  validate(spec);
  const Contents contents{kMark, spec};
  TensorMap map;
  std::memcpy(map.bytes, &contents, sizeof contents);
  return map;
}

std::optional<TensorMapSpec> decode(const TensorMap& map) {
  Contents contents;
  std::memcpy(&contents, map.bytes, sizeof contents);
  if (contents.mark != kMark) return std::nullopt;
  return contents.spec;
}

std::optional<std::uint64_t> element_address(const TensorMapSpec& spec, std::span<const std::int64_t> coordinates) {
  std::uint64_t address = spec.base;
  for (std::size_t i = 0; i < spec.rank; ++i) {
    if (coordinates[i] < 0 || static_cast<std::uint64_t>(coordinates[i]) >= spec.sizes[i]) return std::nullopt;
    address += static_cast<std::uint64_t>(coordinates[i]) * spec.strides[i];
  }
  return address;
}

}  // namespace hotgemm::emulate
