#include "config/matrix_map.hpp"

#include "shared/address_place.hpp"
#include "shared/ragged_map.hpp"

#include <algorithm>
#include <type_traits>

namespace hotgemm {
namespace {

TensorSwizzle swizzle_of(int bytes) {
  return bytes == 128 ? TensorSwizzle::bytes_128 : bytes == 64 ? TensorSwizzle::bytes_64 : TensorSwizzle::bytes_32;
}

MatrixMap map_of(BoxExtent box, int swizzle_bytes, DType element, MatrixKind kind) {
  MatrixMap map{.kind = kind, .fixed = {.element = element, .swizzle = swizzle_of(swizzle_bytes)}};
  map.fixed.strides[0] = static_cast<std::uint64_t>(size_bytes(element));
  map.fixed.box = {static_cast<std::uint32_t>(box.x), static_cast<std::uint32_t>(box.y)};
  map.fixed.rank = kind == MatrixKind::one ? 2 : kind == MatrixKind::numbered ? 3 : 4;
  for (std::size_t i = 2; i < map.fixed.rank; ++i) map.fixed.box[i] = 1;
  return map;
}

/// The bytes of all rows, rounded down to whole chunks of 16. 0 if there are gaps between rows, because the memory of
/// gaps may not be mapped, and for a batch.
std::uint64_t bytes_without_gaps(const TensorMapSpec& s) {
  if (s.rank > 2) return 0;
  const std::uint64_t row = s.sizes[0] * s.strides[0];
  if (s.sizes[1] > 1 && s.strides[1] != row) return 0;
  return s.sizes[1] * row / 16 * 16;
}

/// Checks that matrix_maps below has the maps of this config if its kernels take tensor maps.
template <class Config>
constexpr bool has_maps_below() {
  static_assert(
      !std::is_same_v<typename FamilyOf<Config>::Args, WgmmaArgs> || std::is_same_v<Config, WgmmaConfig>,
      "kernels of this config take WgmmaArgs: add their tensor maps to matrix_maps, src/config/matrix_map.cpp");
  return true;
}
static_assert([] {
  bool all = true;
  for_each_family([&]<class Config>(std::type_identity<Config>) { all = all && has_maps_below<Config>(); });
  return all;
}());

}  // namespace

TensorMapSpec MatrixMap::of(const void* base, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                            const MatrixBatch& batch) const {
  TensorMapSpec spec = fixed;
  spec.base = reinterpret_cast<std::uint64_t>(base);
  spec.sizes[0] = static_cast<std::uint64_t>(cols);
  spec.sizes[1] = static_cast<std::uint64_t>(rows);
  spec.strides[1] = static_cast<std::uint64_t>(ld) * spec.strides[0];
  // Matrices side by side have a smaller stride than rows, which the driver and the copy engine accept (BatchOnGpu).
  if (kind == MatrixKind::numbered) {
    spec.sizes[2] = batch.stride == 0 ? 1 : static_cast<std::uint64_t>(batch.count);
    spec.strides[2] = batch.stride == 0 ? spec.strides[1] : static_cast<std::uint64_t>(batch.stride) * spec.strides[0];
  }
  if (kind == MatrixKind::divided) {
    spec.sizes[1] = kRaggedRows;
    spec.sizes[2] = static_cast<std::uint64_t>(rows) + 1;
    spec.sizes[3] = kRaggedRows + 1;
    spec.strides[2] = spec.strides[1];
    spec.strides[3] = kRaggedBytes - spec.strides[1];
  }
  if (kind == MatrixKind::anywhere) {
    spec.base = kFirstPlace;
    spec.strides[2] = kPlaceBytes;
    spec.sizes[2] = (std::uint64_t{1} << kWindowBits) / kPlaceBytes;
    spec.strides[3] = std::uint64_t{1} << kWindowBits;
    spec.sizes[3] = std::uint64_t{1} << (kAddressBits - kWindowBits);
  }
  return spec;
}

BoxMaps box_maps(const TensorMapSpec& spec, bool is_k_major) noexcept {
  if (!is_k_major) return {.whole = spec, .rest = std::nullopt};
  BoxMaps boxes;
  if (spec.sizes[1] >= spec.box[1]) boxes.whole = spec;
  if (const auto rest = static_cast<std::uint32_t>(spec.sizes[1] % spec.box[1]); rest > 0) {
    boxes.rest = spec;
    boxes.rest->box[1] = rest;
  }
  return boxes;
}

PrefetchBytes prefetch_bytes(const TensorMapSpec& a, const TensorMapSpec& b, std::int64_t blocks) noexcept {
  constexpr std::uint64_t kMost = 8 << 20, kMostOfBlock = 64 << 10;
  const std::uint64_t of_a = bytes_without_gaps(a), of_b = bytes_without_gaps(b);
  const std::uint64_t most = std::min(kMost, static_cast<std::uint64_t>(blocks) * kMostOfBlock);
  if (of_a > most || of_b > most || of_a + of_b > most) return {};
  return {static_cast<unsigned>(of_a), static_cast<unsigned>(of_b)};
}

std::optional<MatrixMaps> matrix_maps(const KernelConfig& config, const GemmTraits& traits) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma == nullptr) return std::nullopt;
  const WgmmaTile a = wgmma->a_tile(traits), b = wgmma->b_tile(traits);
  const MatrixKind batched = traits.pointers  ? MatrixKind::anywhere
                             : traits.batched ? MatrixKind::numbered
                                              : MatrixKind::one;
  const MatrixKind of_d = traits.divides_rows() ? MatrixKind::one : batched;
  MatrixMaps maps{
      .a = map_of(wgmma->a_box(traits), a.swizzle_bytes, traits.element, traits.along_k ? MatrixKind::divided : of_d),
      .b = map_of(wgmma->b_box(traits), b.swizzle_bytes, traits.element_b,
                  traits.along_k ? MatrixKind::divided : batched),
      .d = std::nullopt,
      .a_is_k_major = a.k_major,
      .b_is_k_major = b.k_major,
      .cuts_a = !traits.divides_rows() && !wgmma->is_square(),
      .cuts_b = wgmma->gate_half(traits) == 0 && !wgmma->is_square(),
      .copies_a = !wgmma->loads_by_threads(traits, traits.vec_a),
      .copies_b = !wgmma->loads_by_threads(traits, traits.vec_b)};
  if (wgmma->stores_in_bulk(traits))
    maps.d = map_of(wgmma->d_box(traits), WgmmaConfig::kStoreRowBytes, traits.element_d, of_d);
  return maps;
}

TensorMapSpec MatrixMaps::of_a(const void* base, std::int64_t m, std::int64_t k, std::int64_t ld,
                               const MatrixBatch& batch) const {
  return a_is_k_major ? a.of(base, m, k, ld, batch) : a.of(base, k, m, ld, batch);
}
TensorMapSpec MatrixMaps::of_b(const void* base, std::int64_t n, std::int64_t k, std::int64_t ld,
                               const MatrixBatch& batch) const {
  return b_is_k_major ? b.of(base, n, k, ld, batch) : b.of(base, k, n, ld, batch);
}

}  // namespace hotgemm
