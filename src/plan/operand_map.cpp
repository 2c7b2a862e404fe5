#include "plan/operand_map.hpp"

namespace hotgemm {
namespace {

TensorSwizzle swizzle_of(const WgmmaTile& tile) {
  return tile.swizzle_bytes == 128  ? TensorSwizzle::bytes_128
         : tile.swizzle_bytes == 64 ? TensorSwizzle::bytes_64
                                    : TensorSwizzle::bytes_32;
}

OperandMap map_of(const WgmmaTile& tile, BoxExtent box, DType element) {
  OperandMap map{.fixed = {.element = element, .swizzle = swizzle_of(tile)}, .k_major = tile.k_major};
  map.fixed.strides[0] = static_cast<std::uint64_t>(size_bytes(element));
  map.fixed.box = {static_cast<std::uint32_t>(box.x), static_cast<std::uint32_t>(box.y)};
  return map;
}

}  // namespace

TensorMapSpec OperandMap::of(const void* base, std::int64_t outer, std::int64_t k, std::int64_t ld) const {
  TensorMapSpec spec = fixed;
  spec.base = reinterpret_cast<std::uint64_t>(base);
  spec.sizes[0] = static_cast<std::uint64_t>(k_major ? k : outer);
  spec.sizes[1] = static_cast<std::uint64_t>(k_major ? outer : k);
  spec.strides[1] = static_cast<std::uint64_t>(ld) * spec.strides[0];
  return spec;
}

std::optional<OperandMaps> operand_maps(const KernelConfig& config, const GemmTraits& traits) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma == nullptr) return std::nullopt;
  return OperandMaps{map_of(wgmma->a_tile(traits), wgmma->a_box(traits), traits.element),
                     map_of(wgmma->b_tile(traits), wgmma->b_box(traits), traits.element)};
}

}  // namespace hotgemm
