#pragma once

#include "emulate/access.hpp"
#include "emulate/bulk_stores.hpp"
#include "emulate/proxy_fence.hpp"
#include "emulate/tensor_load.hpp"
#include "ptx/device.hpp"
#include "shared/tensor_map.hpp"

namespace hotgemm::ptx {

/// Has no effect, but checks that `map` is a tensor map.
HOTGEMM_DEVICE void prefetch_tensormap(const TensorMap& map) { emulate::prefetch_map(map); }

/// Has no effect, but checks that the memory belongs to a matrix.
HOTGEMM_DEVICE void cp_async_bulk_prefetch_l2(u64 address, u32 bytes) {
  emulate::prefetch_global(emulate::Instruction::bulk_prefetch_l2, address, bytes);
}

/// A hint, without effect.
HOTGEMM_DEVICE u64 createpolicy_evict_first() { return 0; }

HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_load(u32 shared, const TensorMap& map, int x, int y, u32 barrier) {
  emulate::load_tensor(shared, map, {x, y}, barrier);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_load(u32 shared, const TensorMap& map, int x, int y, u32 barrier,
                                                 u64 policy) {
  static_cast<void>(policy);  // a hint
  emulate::load_tensor(shared, map, {x, y}, barrier);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_multicast(u32 shared, const TensorMap& map, int x, int y, u32 barrier,
                                                      u16 blocks) {
  emulate::load_tensor_multicast(shared, map, {x, y}, barrier, blocks);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_multicast(u32 shared, const TensorMap& map, int x, int y, u32 barrier,
                                                      u16 blocks, u64 policy) {
  static_cast<void>(policy);
  emulate::load_tensor_multicast(shared, map, {x, y}, barrier, blocks);
}

HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_load(u32 shared, const TensorMap& map, int x, int y, int z, u32 barrier) {
  emulate::load_tensor(shared, map, {x, y, z, 0, 3}, barrier);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_load(u32 shared, const TensorMap& map, int x, int y, int z, u32 barrier,
                                                 u64 policy) {
  static_cast<void>(policy);  // a hint
  emulate::load_tensor(shared, map, {x, y, z, 0, 3}, barrier);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_multicast(u32 shared, const TensorMap& map, int x, int y, int z,
                                                      u32 barrier, u16 blocks) {
  emulate::load_tensor_multicast(shared, map, {x, y, z, 0, 3}, barrier, blocks);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_multicast(u32 shared, const TensorMap& map, int x, int y, int z,
                                                      u32 barrier, u16 blocks, u64 policy) {
  static_cast<void>(policy);
  emulate::load_tensor_multicast(shared, map, {x, y, z, 0, 3}, barrier, blocks);
}

HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_load(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                 u32 barrier) {
  emulate::load_tensor(shared, map, {x, y, z, w, 4}, barrier);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_load(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                 u32 barrier, u64 policy) {
  static_cast<void>(policy);  // a hint
  emulate::load_tensor(shared, map, {x, y, z, w, 4}, barrier);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_multicast(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                      u32 barrier, u16 blocks) {
  emulate::load_tensor_multicast(shared, map, {x, y, z, w, 4}, barrier, blocks);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_multicast(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                      u32 barrier, u16 blocks, u64 policy) {
  static_cast<void>(policy);
  emulate::load_tensor_multicast(shared, map, {x, y, z, w, 4}, barrier, blocks);
}

HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_store(const TensorMap& map, int x, int y, u32 shared) {
  emulate::store_tensor(map, {x, y}, shared);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_store(const TensorMap& map, int x, int y, int z, u32 shared) {
  emulate::store_tensor(map, {x, y, z, 0, 3}, shared);
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_store(const TensorMap& map, int x, int y, int z, int w, u32 shared) {
  emulate::store_tensor(map, {x, y, z, w, 4}, shared);
}
HOTGEMM_DEVICE void cp_async_bulk_commit_group() { emulate::bulk_stores().commit(emulate::this_thread()); }
template <int kPending>
HOTGEMM_DEVICE void cp_async_bulk_wait_group() {
  emulate::bulk_stores().await(emulate::this_thread(), kPending, true);
}
template <int kPending>
HOTGEMM_DEVICE void cp_async_bulk_wait_group_read() {
  emulate::bulk_stores().await(emulate::this_thread(), kPending, false);
}

HOTGEMM_DEVICE void fence_proxy_async() { emulate::fence_proxy_async(); }

}  // namespace hotgemm::ptx
