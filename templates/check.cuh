#pragma once

// The kernels that fill operands and check results, and one that others are timed behind. The tuner uses them; the GEMM
// calls of a user do not.

#include "element_access.cuh"
#include "ptx/index.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "shared/check_data.hpp"

namespace hotgemm {

inline constexpr int kCheckThreads = 256;

/// Calls visit.template operator()<type>() for the type `dtype`.
template <class Visit>
HOTGEMM_DEVICE auto with_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::f16: return visit.template operator()<DType::f16>();
    case DType::bf16: return visit.template operator()<DType::bf16>();
    case DType::f32:
    case DType::tf32: break;
    case DType::e4m3: return visit.template operator()<DType::e4m3>();
    case DType::e5m2: return visit.template operator()<DType::e5m2>();
    case DType::s8: return visit.template operator()<DType::s8>();
    case DType::s32: return visit.template operator()<DType::s32>();
  }
  return visit.template operator()<DType::f32>();
}

HOTGEMM_DEVICE void store_element(u64 matrix, i64 index, DType dtype, float value) {
  with_type(dtype, [&]<DType kType>() {
    hotgemm::store_element<kType>(matrix, index, static_cast<typename ResultOf<kType>::type>(value));
  });
}

HOTGEMM_DEVICE float load_element(u64 matrix, i64 index, DType dtype) {
  return with_type(dtype,
                   [&]<DType kType>() { return static_cast<float>(hotgemm::load_element<kType>(matrix, index)); });
}

/// The element of D that is nearest to a whole number: a D of 8 bits has few of them.
HOTGEMM_DEVICE float nearest_element(DType dtype, int whole) {
  const auto value = static_cast<float>(whole);
  return with_type(dtype, [&]<DType kType>() -> float {
    if constexpr (size_bytes(kType) == 1) return static_cast<float>(number_of_byte<kType>(byte_of<kType>(value)));
    return value;
  });
}

/// A standard normal variable that depends on the position only (Box and Muller).
HOTGEMM_DEVICE float normal_at(u32 seed, u32 row, u32 col) {
  const u32 first = hash_at(seed, row, col);
  const u32 second = hash_at(seed ^ 0x2545f491u, row, col);
  const float u = (static_cast<float>(first >> 8) + 0.5f) * (1.0f / 16777216.0f);
  const float v = static_cast<float>(second >> 8) * (1.0f / 16777216.0f);
  return ptx::sqrt_approx(-1.3862943611f * ptx::lg2_approx(u)) * ptx::cos_approx(6.2831853072f * v);
}

/// An element of one of several matrices.
struct ElementOf {
  int matrix;
  i64 element;  ///< counted along the rows
};
/// Element number `index` of matrices with `elements` each.
HOTGEMM_DEVICE ElementOf element_of(i64 index, i64 elements, int matrices) {
  if (matrices == 1) return {0, index};  // no division
  return {static_cast<int>(index / elements), index % elements};
}

HOTGEMM_DEVICE void fill(const FillArgs& args) {
  const i64 elements = static_cast<i64>(args.rows) * args.cols, total = elements * args.matrices;
  const i64 step = static_cast<i64>(ptx::grid_size()) * kCheckThreads;
  const int stride = args.pattern == FillPattern::check_a ? check_stride(args.k_extent) : 1;
  for (i64 index = static_cast<i64>(ptx::block_index()) * kCheckThreads + ptx::thread_index(); index < total;
       index += step) {
    const ElementOf at = element_of(index, elements, args.matrices);
    const u32 seed = seed_of_product(args.seed, static_cast<u32>(at.matrix));
    const int row = static_cast<int>(at.element / args.cols);
    const int col = static_cast<int>(at.element % args.cols);
    const int i = args.transposed ? col : row;
    const int j = args.transposed ? row : col;
    float value = 0;
    switch (args.pattern) {
      case FillPattern::check_a: value = static_cast<float>(check_value_a(seed, i, j, stride)); break;
      case FillPattern::check_b: value = static_cast<float>(check_value_b(seed, i, j)); break;
      case FillPattern::check_c: value = static_cast<float>(check_value_c(seed, i, j)); break;
      case FillPattern::normal: {
        value = normal_at(seed, static_cast<u32>(row), static_cast<u32>(col));
        if (args.dtype == DType::s8) value = quantized_normal(value);
        break;
      }
    }
    store_element(args.matrix, at.matrix * args.stride + row * args.ld + col, args.dtype, value);
  }
}

HOTGEMM_DEVICE void check(const CheckArgs& args) {
  const i64 elements = static_cast<i64>(args.m) * args.n, total = elements * args.products;
  const i64 step = static_cast<i64>(ptx::grid_size()) * kCheckThreads;
  const int stride = check_stride(args.k);
  for (i64 index = static_cast<i64>(ptx::block_index()) * kCheckThreads + ptx::thread_index(); index < total;
       index += step) {
    const ElementOf at = element_of(index, elements, args.products);
    const u32 seed = seed_of_product(args.seed, static_cast<u32>(at.matrix));
    const int row = static_cast<int>(at.element / args.n);
    const int col = static_cast<int>(at.element % args.n);
    const int product = args.k > 0 ? check_product(seed, row, col, args.k, stride) : 0;
    const int expected = args.alpha * product + (args.beta != 0 ? args.beta * check_value_c(seed, row, col) : 0);
    const float found = load_element(args.d, at.matrix * args.stride_d + row * args.ldd + col, args.dtype);
    // No right result equals the initial D, but for an s8 of -128, which is rare.
    if (found == nearest_element(args.dtype, expected)) continue;
    ptx::red_global_add_u32(args.report, 1);
    ptx::st_global_b32(args.report + 4, static_cast<u32>(row));
    ptx::st_global_b32(args.report + 8, static_cast<u32>(col));
    ptx::st_global_b32(args.report + 12, static_cast<u32>(at.matrix));
  }
}

HOTGEMM_DEVICE void digest(const DigestArgs& args) {
  const u64 chunks = args.bytes / kDigestChunkBytes;
  const u64 step = static_cast<u64>(ptx::grid_size()) * kCheckThreads;
  u64 sum = 0;
  for (u64 chunk = static_cast<u64>(ptx::block_index()) * kCheckThreads + static_cast<u64>(ptx::thread_index());
       chunk < chunks; chunk += step) {
    const u64 address = args.begin + chunk * kDigestChunkBytes;
    const ptx::Vec4 words = ptx::ld_global_v4_b32(address);
    sum += digest_chunk(args, address, words.x, words.y, words.z, words.w);
  }
  // Sums within a warp first, because all warps add to one address, one after the other.
  for (u32 distance = 16; distance > 0; distance /= 2) {
    const u32 low = ptx::shfl_sync_bfly_b32(static_cast<u32>(sum), distance, 0x1f, ~0u);
    const u32 high = ptx::shfl_sync_bfly_b32(static_cast<u32>(sum >> 32), distance, 0x1f, ~0u);
    sum += static_cast<u64>(high) << 32 | low;
  }
  if (ptx::thread_index() % 32 == 0) ptx::red_global_add_u64(args.sum, sum);
}

/// A kernel as it stands between the GEMMs of a program. It does not trigger, so that a programmatic launch behind it
/// begins at its end.
HOTGEMM_DEVICE void pointwise(const PointwiseArgs& args) {
  const u64 chunks = args.bytes / kPointwiseChunkBytes;
  const u64 step = static_cast<u64>(ptx::grid_size()) * kCheckThreads;
  const auto changed = [](u32 bits) { return ptx::bits_of(pointwise_of(ptx::float_of(bits))); };
  for (u64 chunk = static_cast<u64>(ptx::block_index()) * kCheckThreads + static_cast<u64>(ptx::thread_index());
       chunk < chunks; chunk += step) {
    const u64 address = args.begin + chunk * kPointwiseChunkBytes;
    const ptx::Vec4 v = ptx::ld_global_v4_b32(address);
    ptx::st_global_v4_b32(address, {changed(v.x), changed(v.y), changed(v.z), changed(v.w)});
  }
}

}  // namespace hotgemm
