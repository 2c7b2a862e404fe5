#pragma once

#include "ptx/device.hpp"

// Atomic operations on global memory. Those with acq_rel order the accesses of blocks: each releases what its thread
// has done and seen, and acquires what the threads whose values it reads have released. A relaxed one orders nothing.

namespace hotgemm::ptx {

/// atom.acq_rel.gpu.add: adds, and returns the old value.
HOTGEMM_DEVICE u32 atom_acq_rel_gpu_add_u32(u64 address, u32 value) {
  u32 old = 0;
  HOTGEMM_PTX("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(value) : "memory");
  return old;
}

/// atom.acq_rel.gpu.exch: stores `value`, and returns the old value.
HOTGEMM_DEVICE u32 atom_acq_rel_gpu_exch_b32(u64 address, u32 value) {
  u32 old = 0;
  HOTGEMM_PTX("atom.acq_rel.gpu.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(value) : "memory");
  return old;
}

/// atom.relaxed.gpu.add: adds, and returns the old value.
HOTGEMM_DEVICE u32 atom_relaxed_gpu_add_u32(u64 address, u32 value) {
  u32 old = 0;
  HOTGEMM_PTX("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(value) : "memory");
  return old;
}

/// ld.relaxed.gpu
HOTGEMM_DEVICE u32 ld_relaxed_gpu_b32(u64 address) {
  u32 value = 0;
  HOTGEMM_PTX("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// st.relaxed.gpu
HOTGEMM_DEVICE void st_relaxed_gpu_b32(u64 address, u32 value) {
  HOTGEMM_PTX("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// ld.acquire.gpu
HOTGEMM_DEVICE u32 ld_acquire_gpu_b32(u64 address) {
  u32 value = 0;
  HOTGEMM_PTX("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

}  // namespace hotgemm::ptx
