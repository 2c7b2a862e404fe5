#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotgemm::emulate {

/// The instructions of the emulated device, one for each name that reports distinguish.
enum class Instruction : std::uint8_t {
  none,
  ld_global_u8,
  ld_global_b16,
  ld_global_b32,
  ld_global_b64,
  ld_global_v2_b32,
  ld_global_v4_b32,
  st_global_u8,
  st_global_b16,
  st_global_b32,
  st_global_v2_b32,
  st_global_v4_b32,
  red_global_add_u32,
  red_global_add_u64,
  red_global_max_u32,
  red_global_and_b32,
  red_global_or_b32,
  red_global_add_f32,
  atom_acq_rel_gpu_add_u32,
  atom_acq_rel_gpu_exch_b32,
  atom_relaxed_gpu_add_u32,
  ld_relaxed_gpu_b32,
  st_relaxed_gpu_b32,
  ld_acquire_gpu_b32,
  ld_shared_b16,
  ld_shared_b32,
  ld_shared_f32,
  ld_shared_v2_b32,
  ld_shared_v4_b32,
  st_shared_b16,
  st_shared_b32,
  st_shared_v2_b32,
  st_shared_v4_b32,
  st_shared_f32,
  cp_async_ca_4,
  cp_async_ca_8,
  cp_async_cg_16,
  cp_async_commit_group,
  cp_async_wait_group,
  bar_sync,
  bar_arrive,
  barrier_cluster_arrive,
  barrier_cluster_arrive_relaxed,
  barrier_cluster_wait,
  mapa,
  mbarrier_init,
  fence_mbarrier_init,
  mbarrier_arrive,
  mbarrier_arrive_expect_tx,
  mbarrier_arrive_cluster,
  mbarrier_try_wait_parity,
  prefetch_tensormap,
  bulk_prefetch_l2,
  prefetch_l1,
  bulk_tensor_load,
  bulk_tensor_multicast,
  bulk_tensor_store,
  bulk_commit_group,
  bulk_wait_group,
  bulk_wait_group_read,
  fence_proxy_async,
  griddepcontrol_wait,
  griddepcontrol_launch_dependents,
  trap,
  bar_warp_sync,
  ldmatrix_x2,
  ldmatrix_x2_trans,
  ldmatrix_x4,
  ldmatrix_x4_trans,
  stmatrix_x4,
  stmatrix_x4_trans,
  mma_m16n8k16_f32_f16,
  mma_m16n8k16_f32_bf16,
  mma_m16n8k16_f16_f16,
  mma_m16n8k32_s32_s8,
  mma_m16n8k32_f32_fp8,
  mma_m16n8k8_f32_tf32,
  wmma_load_a,
  wmma_load_b,
  wmma_mma_f32_f16,
  wmma_mma_f32_bf16,
  wmma_mma_f16_f16,
  wmma_store_d,
  shfl_sync_idx,
  shfl_sync_up,
  shfl_sync_down,
  shfl_sync_bfly,
  vote_sync_all,
  vote_sync_any,
  vote_sync_ballot,
  elect_sync,
  wgmma_fence,
  wgmma_mma_async,
  wgmma_commit_group,
  wgmma_wait_group,
  setmaxnreg,
  count,
};

inline constexpr std::size_t kInstructions = static_cast<std::size_t>(Instruction::count);

/// The name in PTX, without the parts that all instructions of the kind have: "ldmatrix.x4.trans", "cp.async.cg.16".
std::string_view to_string(Instruction instruction);

/// True if all lanes of a warp execute it together. Such an instruction is counted once per warp, others once per
/// thread.
constexpr bool is_warp_wide(Instruction i) { return i >= Instruction::bar_warp_sync && i < Instruction::count; }

/// True if it writes to shared memory through the generic proxy. The copy engine and wgmma see such a write only after
/// a fence.
constexpr bool is_generic_store(Instruction i) {
  return (i >= Instruction::st_shared_b16 && i <= Instruction::cp_async_cg_16) || i == Instruction::stmatrix_x4 ||
         i == Instruction::stmatrix_x4_trans || i == Instruction::wmma_store_d;
}

/// True for an atomic operation, or a load or store of such kind. Two of these do not conflict.
constexpr bool is_atomic(Instruction i) {
  return i >= Instruction::red_global_add_u32 && i <= Instruction::ld_acquire_gpu_b32;
}

}  // namespace hotgemm::emulate
