#pragma once

#include "emulate/ordered_access.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE u32 atom_acq_rel_gpu_add_u32(u64 address, u32 value) {
  return emulate::exchange_ordered(emulate::Instruction::atom_acq_rel_gpu_add_u32, address,
                                   [value](u32 old) { return old + value; });
}
HOTGEMM_DEVICE u32 atom_acq_rel_gpu_exch_b32(u64 address, u32 value) {
  return emulate::exchange_ordered(emulate::Instruction::atom_acq_rel_gpu_exch_b32, address,
                                   [value](u32) { return value; });
}
HOTGEMM_DEVICE u32 atom_relaxed_gpu_add_u32(u64 address, u32 value) {
  return emulate::exchange_relaxed(emulate::Instruction::atom_relaxed_gpu_add_u32, address,
                                   [value](u32 old) { return old + value; });
}
HOTGEMM_DEVICE u32 ld_relaxed_gpu_b32(u64 address) {
  return emulate::load_global<u32>(emulate::Instruction::ld_relaxed_gpu_b32, address);
}
HOTGEMM_DEVICE void st_relaxed_gpu_b32(u64 address, u32 value) {
  emulate::store_global(emulate::Instruction::st_relaxed_gpu_b32, address, value);
}
HOTGEMM_DEVICE u32 ld_acquire_gpu_b32(u64 address) {
  return emulate::load_acquire(emulate::Instruction::ld_acquire_gpu_b32, address);
}

}  // namespace hotgemm::ptx
