#pragma once

#include "ptx/device.hpp"

// Loads and stores. Global addresses are 64-bit byte addresses; shared addresses are 32-bit offsets in the shared
// window. Neither can be dereferenced, so every access of a kernel uses these functions.

namespace hotgemm::ptx {

struct Vec2 {
  u32 x, y;
};
struct Vec4 {
  u32 x, y, z, w;
};

/// The start of the block's dynamic shared memory, aligned to 1024 bytes.
HOTGEMM_DEVICE u32 dynamic_shared_base() {
#if defined(__CUDACC__)
  extern __shared__ __align__(1024) unsigned char hotgemm_dynamic_shared[];
  return static_cast<u32>(__cvta_generic_to_shared(hotgemm_dynamic_shared));
#else
  return 0;
#endif
}

// ---- global ----

HOTGEMM_DEVICE u16 ld_global_b16(u64 address) {
  u16 value = 0;
  HOTGEMM_PTX("ld.global.b16 %0, [%1];" : "=h"(value) : "l"(address) : "memory");
  return value;
}
/// One byte, in a register of 32 bits; its upper bits are zero.
HOTGEMM_DEVICE u32 ld_global_u8(u64 address) {
  u32 value = 0;
  HOTGEMM_PTX("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
HOTGEMM_DEVICE u32 ld_global_b32(u64 address) {
  u32 value = 0;
  HOTGEMM_PTX("ld.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
HOTGEMM_DEVICE Vec2 ld_global_v2_b32(u64 address) {
  Vec2 v{};
  HOTGEMM_PTX("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(address) : "memory");
  return v;
}
HOTGEMM_DEVICE Vec4 ld_global_v4_b32(u64 address) {
  Vec4 v{};
  HOTGEMM_PTX("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
              : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
              : "l"(address)
              : "memory");
  return v;
}
/// prefetch.global.L1: hints that the element of `bytes` at `address` will be loaded.
HOTGEMM_DEVICE void prefetch_global_l1(u64 address, u32 bytes) {
  static_cast<void>(bytes);
  HOTGEMM_PTX("prefetch.global.L1 [%0];" ::"l"(address) : "memory");
}

/// Emits no instruction. The compiler does not load through the result before this point.
HOTGEMM_DEVICE u64 unchanged_from_here(u64 address) {
  HOTGEMM_PTX("" : "+l"(address)::"memory");
  return address;
}
/// Emits no instruction. What the compiler derives from the result is computed after this point, and not kept before.
HOTGEMM_DEVICE int number_from_here(int number) {
  HOTGEMM_PTX("" : "+r"(number));
  return number;
}
/// Loads under a predicate, zero if `condition` is false, of memory that does not change from unchanged_from_here on.
/// The compiler may move a load, or drop it; it does not merge two of them.
HOTGEMM_DEVICE u32 ld_global_unchanged_u16_if(u64 address, bool condition) {
  u32 value = 0;
  HOTGEMM_PTX_PURE("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0; @p ld.global.u16 %0, [%1]; }"
                   : "=&r"(value)
                   : "l"(address), "r"(static_cast<int>(condition)));
  return value;
}
HOTGEMM_DEVICE u32 ld_global_unchanged_b32_if(u64 address, bool condition) {
  u32 value = 0;
  HOTGEMM_PTX_PURE("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0; @p ld.global.b32 %0, [%1]; }"
                   : "=&r"(value)
                   : "l"(address), "r"(static_cast<int>(condition)));
  return value;
}
HOTGEMM_DEVICE u64 ld_global_unchanged_b64_if(u64 address, bool condition) {
  u64 value = 0;
  HOTGEMM_PTX_PURE("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.b64 %0, 0; @p ld.global.b64 %0, [%1]; }"
                   : "=&l"(value)
                   : "l"(address), "r"(static_cast<int>(condition)));
  return value;
}
/// The same as ld_global_b16 in a register of 32 bits, which saves registers where the value waits for its use.
HOTGEMM_DEVICE u32 ld_global_u16(u64 address) {
  u32 value = 0;
  HOTGEMM_PTX("ld.global.u16 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
/// A load under a predicate: zero without a load if `condition` is false.
HOTGEMM_DEVICE u32 ld_global_u16_if(u64 address, bool condition) {
  u32 value = 0;
  HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0; @p ld.global.u16 %0, [%1]; }"
              : "=&r"(value)
              : "l"(address), "r"(static_cast<int>(condition))
              : "memory");
  return value;
}
HOTGEMM_DEVICE u32 ld_global_b32_if(u64 address, bool condition) {
  u32 value = 0;
  HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0; @p ld.global.b32 %0, [%1]; }"
              : "=&r"(value)
              : "l"(address), "r"(static_cast<int>(condition))
              : "memory");
  return value;
}
HOTGEMM_DEVICE Vec2 ld_global_v2_b32_if(u64 address, bool condition) {
  Vec2 v{};
  HOTGEMM_PTX(
      "{ .reg .pred p; setp.ne.b32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0; @p ld.global.v2.b32 {%0, %1}, [%2]; }"
      : "=&r"(v.x), "=&r"(v.y)
      : "l"(address), "r"(static_cast<int>(condition))
      : "memory");
  return v;
}
/// The lower byte of `value`.
HOTGEMM_DEVICE void st_global_u8(u64 address, u32 value) {
  HOTGEMM_PTX("st.global.u8 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void st_global_b16(u64 address, u16 value) {
  HOTGEMM_PTX("st.global.b16 [%0], %1;" ::"l"(address), "h"(value) : "memory");
}
HOTGEMM_DEVICE void st_global_b32(u64 address, u32 value) {
  HOTGEMM_PTX("st.global.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void st_global_v2_b32(u64 address, u32 x, u32 y) {
  HOTGEMM_PTX("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(x), "r"(y) : "memory");
}
HOTGEMM_DEVICE void st_global_v4_b32(u64 address, Vec4 v) {
  HOTGEMM_PTX("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
              : "memory");
}
HOTGEMM_DEVICE void red_global_add_u32(u64 address, u32 value) {
  HOTGEMM_PTX("red.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void red_global_add_u64(u64 address, u64 value) {
  HOTGEMM_PTX("red.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}
HOTGEMM_DEVICE void red_global_max_u32(u64 address, u32 value) {
  HOTGEMM_PTX("red.global.max.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void red_global_and_b32(u64 address, u32 value) {
  HOTGEMM_PTX("red.global.and.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void red_global_or_b32(u64 address, u32 value) {
  HOTGEMM_PTX("red.global.or.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void red_global_add_f32(u64 address, float value) {
  HOTGEMM_PTX("red.global.add.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}

// ---- shared ----

HOTGEMM_DEVICE u16 ld_shared_b16(u32 address) {
  u16 value = 0;
  HOTGEMM_PTX("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}
HOTGEMM_DEVICE u32 ld_shared_b32(u32 address) {
  u32 value = 0;
  HOTGEMM_PTX("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
HOTGEMM_DEVICE float ld_shared_f32(u32 address) {
  float value = 0;
  HOTGEMM_PTX("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}
HOTGEMM_DEVICE Vec2 ld_shared_v2_b32(u32 address) {
  Vec2 v{};
  HOTGEMM_PTX("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address) : "memory");
  return v;
}
HOTGEMM_DEVICE Vec4 ld_shared_v4_b32(u32 address) {
  Vec4 v{};
  HOTGEMM_PTX("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
              : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
              : "r"(address)
              : "memory");
  return v;
}
HOTGEMM_DEVICE void st_shared_b16(u32 address, u16 value) {
  HOTGEMM_PTX("st.shared.b16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
}
HOTGEMM_DEVICE void st_shared_b32(u32 address, u32 value) {
  HOTGEMM_PTX("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
HOTGEMM_DEVICE void st_shared_v2_b32(u32 address, Vec2 v) {
  HOTGEMM_PTX("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(v.x), "r"(v.y) : "memory");
}
HOTGEMM_DEVICE void st_shared_v4_b32(u32 address, Vec4 v) {
  HOTGEMM_PTX("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
              : "memory");
}
HOTGEMM_DEVICE void st_shared_f32(u32 address, float value) {
  HOTGEMM_PTX("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

// ---- asynchronous copies, sm_80 and later ----

/// cp.async of kBytes (4, 8 or 16): the first `valid_bytes` are read, the others are written as zero.
template <int kBytes>
HOTGEMM_DEVICE void cp_async(u32 shared, u64 global, int valid_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16) {  // bypasses L1, because a block reads a tile once
    HOTGEMM_PTX("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(valid_bytes)
                : "memory");
  } else {
    HOTGEMM_PTX("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global), "n"(kBytes),
                "r"(valid_bytes)
                : "memory");
  }
}

HOTGEMM_DEVICE void cp_async_commit_group() { HOTGEMM_PTX("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most kPending of this thread's most recent groups are still in flight.
template <int kPending>
HOTGEMM_DEVICE void cp_async_wait_group() {
  HOTGEMM_PTX("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace hotgemm::ptx
