#pragma once

// The registers of a thread of family `fma`: its rows of A and columns of B at one k, and its sums.

#include "ptx/convert.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

/// A thread's kCount elements of an operand at one k, in groups of kGroup elements; groups are kGroupStride elements
/// apart, and neighbours kStepBytes. Packed elements fill their registers and are read one group at a time. Other
/// elements have one register each.
template <DType kElement, bool kPacked, int kCount, int kGroup, int kGroupStride, int kStepBytes>
class FmaFragment {
  static constexpr int kBytes = size_bytes(kElement);
  static_assert(!kPacked || kStepBytes == kBytes);

 public:
  HOTGEMM_DEVICE void load(u32 shared) {
#pragma unroll
    for (int group = 0; group < kCount / kGroup; ++group) {
      const u32 address = shared + group * kGroupStride * kStepBytes;
      if constexpr (kPacked && kGroup * kBytes == 8) {
        const ptx::Vec2 v = ptx::ld_shared_v2_b32(address);
        words_[group * 2] = v.x, words_[group * 2 + 1] = v.y;
      } else if constexpr (kPacked) {
        static_assert(kGroup * kBytes == 16);
        const ptx::Vec4 v = ptx::ld_shared_v4_b32(address);
        words_[group * 4] = v.x, words_[group * 4 + 1] = v.y, words_[group * 4 + 2] = v.z, words_[group * 4 + 3] = v.w;
      } else {
#pragma unroll
        for (int e = 0; e < kGroup; ++e) words_[group * kGroup + e] = load_element(address + e * kStepBytes);
      }
    }
  }
  HOTGEMM_DEVICE void set(int i, u32 bits) { words_[i] = bits; }

  HOTGEMM_DEVICE float as_f32(int i) const {
    if constexpr (kElement == DType::f32) {
      return ptx::float_of(words_[i]);
    } else {
      return ptx::widen<kElement>(bits16(i));
    }
  }
  HOTGEMM_DEVICE u16 bits16(int i) const {
    if (!kPacked) return static_cast<u16>(words_[i]);
    return i % 2 == 0 ? static_cast<u16>(words_[i / 2]) : ptx::mov_b16_b32_high(words_[i / 2]);
  }
  /// Elements 2 * i and 2 * i + 1, for types of 16 bits.
  HOTGEMM_DEVICE u32 pair(int i) const { return words_[i]; }
  /// Element i, for types of 32 bits.
  HOTGEMM_DEVICE u32 word(int i) const { return words_[i]; }

 private:
  static HOTGEMM_DEVICE u32 load_element(u32 address) {
    if constexpr (kBytes == 4) {
      return ptx::ld_shared_b32(address);
    } else {
      return ptx::ld_shared_b16(address);
    }
  }

  u32 words_[kPacked ? kCount * kBytes / 4 : kCount];
};

/// A thread's kCount quads of an operand: f32 at four neighbouring values of k. Quads are kStrideBytes apart.
template <int kCount, int kStrideBytes>
class FmaQuads {
 public:
  /// The elements at one of the four values of k.
  struct AtK {
    const ptx::Vec4 (&quads)[kCount];
    int k;
    HOTGEMM_DEVICE float as_f32(int i) const {
      const ptx::Vec4& q = quads[i];
      return ptx::float_of(k == 0 ? q.x : k == 1 ? q.y : k == 2 ? q.z : q.w);
    }
  };

  HOTGEMM_DEVICE void load(u32 shared) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) quads_[i] = ptx::ld_shared_v4_b32(shared + i * kStrideBytes);
  }
  HOTGEMM_DEVICE AtK at(int k) const { return {quads_, k}; }

 private:
  ptx::Vec4 quads_[kCount];
};

/// `Then` if kCondition is true, otherwise `Else`.
template <bool kCondition, class Then, class Else>
struct Conditional {
  using Type = Then;
};
template <class Then, class Else>
struct Conditional<false, Then, Else> {
  using Type = Else;
};

/// A thread's sums in f32. Columns are visited back and forth, so that neighbouring products share an operand.
template <DType kAccumulator, bool kPacked, int kRows, int kCols>
class FmaAccumulators {
  static_assert(kAccumulator == DType::f32);

 public:
  template <class A, class B>
  HOTGEMM_DEVICE void add(const A& a, const B& b) {
    float left[kRows], right[kCols];
#pragma unroll
    for (int i = 0; i < kRows; ++i) left[i] = a.as_f32(i);
#pragma unroll
    for (int j = 0; j < kCols; ++j) right[j] = b.as_f32(j);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int s = 0; s < kCols; ++s) {
        const int j = i % 2 == 0 ? s : kCols - 1 - s;
        sums_[i][j] = ptx::fma_rn(left[i], right[j], sums_[i][j]);
      }
    }
  }
  HOTGEMM_DEVICE void add(int i, int j, float sum) { sums_[i][j] += sum; }
  HOTGEMM_DEVICE float get(int i, int j) const { return sums_[i][j]; }

 private:
  float sums_[kRows][kCols] = {};
};

/// Sums in s32 of the products of words with four s8 each, modulo 2^32.
template <bool kPacked, int kRows, int kCols>
class FmaAccumulators<DType::s32, kPacked, kRows, kCols> {
 public:
  template <class A, class B>
  HOTGEMM_DEVICE void add(const A& a, const B& b) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int s = 0; s < kCols; ++s) {
        const int j = i % 2 == 0 ? s : kCols - 1 - s;
        sums_[i][j] = ptx::dp4a_s32_s32(a.word(i), b.word(j), sums_[i][j]);
      }
    }
  }
  HOTGEMM_DEVICE void add(int i, int j, int sum) { sums_[i][j] += static_cast<u32>(sum); }
  HOTGEMM_DEVICE int get(int i, int j) const { return static_cast<int>(sums_[i][j]); }

 private:
  u32 sums_[kRows][kCols] = {};
};

/// Sums in f16, in pairs of columns.
template <int kRows, int kCols>
class FmaAccumulators<DType::f16, true, kRows, kCols> {
 public:
  template <class A, class B>
  HOTGEMM_DEVICE void add(const A& a, const B& b) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const u32 both = ptx::mov_b32_b16(a.bits16(i), a.bits16(i));
#pragma unroll
      for (int s = 0; s < kCols / 2; ++s) {
        const int j = i % 2 == 0 ? s : kCols / 2 - 1 - s;
        sums_[i][j] = ptx::fma_rn_f16x2(both, b.pair(j), sums_[i][j]);
      }
    }
  }
  HOTGEMM_DEVICE float get(int i, int j) const {
    return ptx::cvt_f32_f16(static_cast<u16>(sums_[i][j / 2] >> (j % 2 * 16)));
  }

 private:
  u32 sums_[kRows][kCols / 2] = {};
};

/// Sums in f16, one by one.
template <int kRows, int kCols>
class FmaAccumulators<DType::f16, false, kRows, kCols> {
 public:
  template <class A, class B>
  HOTGEMM_DEVICE void add(const A& a, const B& b) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) sums_[i][j] = ptx::fma_rn_f16(a.bits16(i), b.bits16(j), sums_[i][j]);
    }
  }
  HOTGEMM_DEVICE float get(int i, int j) const { return ptx::cvt_f32_f16(sums_[i][j]); }

 private:
  u16 sums_[kRows][kCols] = {};
};

}  // namespace hotgemm
