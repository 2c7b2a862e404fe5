#include "gpu/tensor_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <span>

namespace hotgemm {
namespace {

static_assert(static_cast<int>(TensorMapType::uint8) == CU_TENSOR_MAP_DATA_TYPE_UINT8);
static_assert(static_cast<int>(TensorMapType::int32) == CU_TENSOR_MAP_DATA_TYPE_INT32);
static_assert(static_cast<int>(TensorMapType::float16) == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
static_assert(static_cast<int>(TensorMapType::float32) == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
static_assert(static_cast<int>(TensorMapType::bfloat16) == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(static_cast<int>(TensorMapType::tfloat32) == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);

CUtensorMapDataType data_type(DType element) {
  return static_cast<CUtensorMapDataType>(element_type(element).tensor_map);
}

CUtensorMapSwizzle swizzle_mode(TensorSwizzle swizzle) {
  switch (swizzle) {
    case TensorSwizzle::none: return CU_TENSOR_MAP_SWIZZLE_NONE;
    case TensorSwizzle::bytes_32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case TensorSwizzle::bytes_64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case TensorSwizzle::bytes_128: break;
  }
  return CU_TENSOR_MAP_SWIZZLE_128B;
}

std::string describe(const TensorMapSpec& s) {
  return fmt::format("encode a tensor map of {:#x}, sizes {}, strides {} bytes, box {}, swizzle {}", s.base,
                     fmt::join(std::span(s.sizes).first(s.rank), "×"),
                     fmt::join(std::span(s.strides).first(s.rank), "×"), fmt::join(std::span(s.box).first(s.rank), "×"),
                     static_cast<int>(s.swizzle));
}

}  // namespace

CUresult encode_tensor_map(const Driver& driver, const TensorMapSpec& spec, TensorMap& map) noexcept {
  constexpr std::array<cuuint32_t, kTensorMapRank> kEachElement{1, 1, 1, 1, 1};
  std::array<cuuint64_t, kTensorMapRank> sizes{}, strides{};
  for (std::size_t i = 0; i < spec.rank; ++i) {
    sizes[i] = spec.sizes[i];
    if (i > 0) strides[i - 1] = spec.strides[i];  // the driver does not take the stride of dimension 0
  }
  // With L2 promotion to 256 bytes, copies of rows that begin inside a line take longer (docs/notebook/wgmma.md, 17).
  CUtensorMap encoded;
  const CUresult result = driver.cuTensorMapEncodeTiled(
      &encoded, data_type(spec.element), spec.rank, reinterpret_cast<void*>(spec.base), sizes.data(), strides.data(),
      spec.box.data(), kEachElement.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_mode(spec.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  static_assert(sizeof encoded == sizeof(TensorMap) && alignof(CUtensorMap) <= alignof(TensorMap));
  if (result == CUDA_SUCCESS) std::memcpy(map.bytes, &encoded, sizeof encoded);
  return result;
}

TensorMap encode_tensor_map(const Driver& driver, const TensorMapSpec& spec) {
  validate(spec);
  TensorMap map;
  if (const CUresult result = encode_tensor_map(driver, spec, map); result != CUDA_SUCCESS) {
    driver.fail(result, describe(spec));
  }
  return map;
}

}  // namespace hotgemm
