#pragma once

#include "emulate/access.hpp"
#include "emulate/async_copy.hpp"
#include "ptx/device.hpp"

#include <algorithm>
#include <cstdint>

namespace hotgemm::ptx {

struct Vec2 {
  u32 x, y;
};
struct Vec4 {
  u32 x, y, z, w;
};

HOTGEMM_DEVICE u32 dynamic_shared_base() { return emulate::SharedMemory::kBase; }

// ---- global ----

HOTGEMM_DEVICE u16 ld_global_b16(u64 address) {
  return emulate::load_global<u16>(emulate::Instruction::ld_global_b16, address);
}
HOTGEMM_DEVICE u32 ld_global_u8(u64 address) {
  return emulate::load_global<std::uint8_t>(emulate::Instruction::ld_global_u8, address);
}
HOTGEMM_DEVICE u32 ld_global_b32(u64 address) {
  return emulate::load_global<u32>(emulate::Instruction::ld_global_b32, address);
}
/// Has no effect, but checks that the memory belongs to a matrix.
HOTGEMM_DEVICE void prefetch_global_l1(u64 address, u32 bytes) {
  emulate::prefetch_global(emulate::Instruction::prefetch_l1, address, bytes);
}
HOTGEMM_DEVICE u64 unchanged_from_here(u64 address) { return address; }
HOTGEMM_DEVICE int number_from_here(int number) { return number; }
HOTGEMM_DEVICE u32 ld_global_unchanged_u16_if(u64 address, bool condition) {
  return condition ? ld_global_b16(address) : 0u;
}
HOTGEMM_DEVICE u32 ld_global_unchanged_b32_if(u64 address, bool condition) {
  return condition ? ld_global_b32(address) : 0u;
}
HOTGEMM_DEVICE u64 ld_global_unchanged_b64_if(u64 address, bool condition) {
  return condition ? emulate::load_global<u64>(emulate::Instruction::ld_global_b64, address) : 0u;
}
HOTGEMM_DEVICE u32 ld_global_u16(u64 address) { return ld_global_b16(address); }
HOTGEMM_DEVICE u32 ld_global_u16_if(u64 address, bool condition) { return condition ? ld_global_b16(address) : 0u; }
HOTGEMM_DEVICE u32 ld_global_b32_if(u64 address, bool condition) { return condition ? ld_global_b32(address) : 0u; }
HOTGEMM_DEVICE Vec2 ld_global_v2_b32(u64 address) {
  return emulate::load_global<Vec2>(emulate::Instruction::ld_global_v2_b32, address);
}
HOTGEMM_DEVICE Vec2 ld_global_v2_b32_if(u64 address, bool condition) {
  return condition ? ld_global_v2_b32(address) : Vec2{};
}
HOTGEMM_DEVICE Vec4 ld_global_v4_b32(u64 address) {
  return emulate::load_global<Vec4>(emulate::Instruction::ld_global_v4_b32, address);
}
HOTGEMM_DEVICE void st_global_u8(u64 address, u32 value) {
  emulate::store_global(emulate::Instruction::st_global_u8, address, static_cast<std::uint8_t>(value));
}
HOTGEMM_DEVICE void st_global_b16(u64 address, u16 value) {
  emulate::store_global(emulate::Instruction::st_global_b16, address, value);
}
HOTGEMM_DEVICE void st_global_b32(u64 address, u32 value) {
  emulate::store_global(emulate::Instruction::st_global_b32, address, value);
}
HOTGEMM_DEVICE void st_global_v2_b32(u64 address, u32 x, u32 y) {
  const u32 pair[2] = {x, y};
  emulate::store_global(emulate::Instruction::st_global_v2_b32, address, pair);
}
HOTGEMM_DEVICE void st_global_v4_b32(u64 address, Vec4 v) {
  emulate::store_global(emulate::Instruction::st_global_v4_b32, address, v);
}
HOTGEMM_DEVICE void red_global_add_u32(u64 address, u32 value) {
  emulate::reduce_global(emulate::Instruction::red_global_add_u32, address, value,
                         [](u32 old, u32 added) { return old + added; });
}
HOTGEMM_DEVICE void red_global_add_u64(u64 address, u64 value) {
  emulate::reduce_global(emulate::Instruction::red_global_add_u64, address, value,
                         [](u64 old, u64 added) { return old + added; });
}
HOTGEMM_DEVICE void red_global_max_u32(u64 address, u32 value) {
  emulate::reduce_global(emulate::Instruction::red_global_max_u32, address, value,
                         [](u32 old, u32 other) { return std::max(old, other); });
}
HOTGEMM_DEVICE void red_global_and_b32(u64 address, u32 value) {
  emulate::reduce_global(emulate::Instruction::red_global_and_b32, address, value,
                         [](u32 old, u32 mask) { return old & mask; });
}
HOTGEMM_DEVICE void red_global_or_b32(u64 address, u32 value) {
  emulate::reduce_global(emulate::Instruction::red_global_or_b32, address, value,
                         [](u32 old, u32 mask) { return old | mask; });
}
HOTGEMM_DEVICE void red_global_add_f32(u64 address, float value) {
  emulate::reduce_global(emulate::Instruction::red_global_add_f32, address, value,
                         [](float old, float added) { return old + added; });
}

// ---- shared ----

HOTGEMM_DEVICE u16 ld_shared_b16(u32 address) {
  return emulate::load_shared<u16>(emulate::Instruction::ld_shared_b16, address);
}
HOTGEMM_DEVICE u32 ld_shared_b32(u32 address) {
  return emulate::load_shared<u32>(emulate::Instruction::ld_shared_b32, address);
}
HOTGEMM_DEVICE float ld_shared_f32(u32 address) {
  return emulate::load_shared<float>(emulate::Instruction::ld_shared_f32, address);
}
HOTGEMM_DEVICE Vec2 ld_shared_v2_b32(u32 address) {
  return emulate::load_shared<Vec2>(emulate::Instruction::ld_shared_v2_b32, address);
}
HOTGEMM_DEVICE Vec4 ld_shared_v4_b32(u32 address) {
  return emulate::load_shared<Vec4>(emulate::Instruction::ld_shared_v4_b32, address);
}
HOTGEMM_DEVICE void st_shared_b16(u32 address, u16 value) {
  emulate::store_shared(emulate::Instruction::st_shared_b16, address, value);
}
HOTGEMM_DEVICE void st_shared_b32(u32 address, u32 value) {
  emulate::store_shared(emulate::Instruction::st_shared_b32, address, value);
}
HOTGEMM_DEVICE void st_shared_v2_b32(u32 address, Vec2 v) {
  emulate::store_shared(emulate::Instruction::st_shared_v2_b32, address, v);
}
HOTGEMM_DEVICE void st_shared_v4_b32(u32 address, Vec4 v) {
  emulate::store_shared(emulate::Instruction::st_shared_v4_b32, address, v);
}
HOTGEMM_DEVICE void st_shared_f32(u32 address, float value) {
  emulate::store_shared(emulate::Instruction::st_shared_f32, address, value);
}

// ---- asynchronous copies ----

template <int kBytes>
HOTGEMM_DEVICE void cp_async(u32 shared, u64 global, int valid_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  constexpr auto kInstruction = kBytes == 16  ? emulate::Instruction::cp_async_cg_16
                                : kBytes == 8 ? emulate::Instruction::cp_async_ca_8
                                              : emulate::Instruction::cp_async_ca_4;
  emulate::issue_copy(
      emulate::this_thread(),
      {.shared = shared, .global = global, .bytes = kBytes, .valid_bytes = valid_bytes, .instruction = kInstruction});
}

HOTGEMM_DEVICE void cp_async_commit_group() { emulate::commit_copies(emulate::this_thread()); }

template <int kPending>
HOTGEMM_DEVICE void cp_async_wait_group() {
  emulate::await_copies(emulate::this_thread(), kPending);
}

}  // namespace hotgemm::ptx
