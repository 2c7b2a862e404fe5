#pragma once

#include "ptx/device.hpp"
#include "shared/tensor_map.hpp"

// Operations of the copy engine, each issued by one thread: copies of boxes between a tensor in global memory and
// shared memory, and prefetches. Coordinates are those of the box's first element, x along the contiguous dimension.
// Elements outside the tensor are read as zero and not written. sm_90 and later.

namespace hotgemm::ptx {

/// prefetch.tensormap
HOTGEMM_DEVICE void prefetch_tensormap(const TensorMap& map) {
  HOTGEMM_PTX("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// ---- global to L2 ----

/// cp.async.bulk.prefetch.L2: hints that `bytes` from `address` on, both multiples of 16, will be read soon. It changes
/// neither the content of memory nor who may write to it.
HOTGEMM_DEVICE void cp_async_bulk_prefetch_l2(u64 address, u32 bytes) {
  HOTGEMM_PTX("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes) : "memory");
}

/// createpolicy: L2 drops lines that are read with this policy before other lines.
HOTGEMM_DEVICE u64 createpolicy_evict_first() {
  u64 policy = 0;
  HOTGEMM_PTX_PURE("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// ---- global to shared: `barrier` counts the bytes of the box ----

HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_load(u32 shared, const TensorMap& map, int x, int y, u32 barrier) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
/// The same with a cache policy of L2, as createpolicy makes it.
HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_load(u32 shared, const TensorMap& map, int x, int y, u32 barrier,
                                                 u64 policy) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}
/// The same to each block of the cluster whose bit is set in `blocks`: at the same offset, counted at that block's
/// barrier.
HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_multicast(u32 shared, const TensorMap& map, int x, int y, u32 barrier,
                                                      u16 blocks) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_multicast(u32 shared, const TensorMap& map, int x, int y, u32 barrier,
                                                      u16 blocks, u64 policy) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks), "l"(policy)
      : "memory");
}

// The same of a tensor with three dimensions.

HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_load(u32 shared, const TensorMap& map, int x, int y, int z, u32 barrier) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_load(u32 shared, const TensorMap& map, int x, int y, int z, u32 barrier,
                                                 u64 policy) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_multicast(u32 shared, const TensorMap& map, int x, int y, int z,
                                                      u32 barrier, u16 blocks) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_multicast(u32 shared, const TensorMap& map, int x, int y, int z,
                                                      u32 barrier, u16 blocks, u64 policy) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks), "l"(policy)
      : "memory");
}

// The same of a tensor with four dimensions.

HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_load(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                 u32 barrier) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_load(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                 u32 barrier, u64 policy) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier), "l"(policy)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_multicast(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                      u32 barrier, u16 blocks) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier), "h"(blocks)
      : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_multicast(u32 shared, const TensorMap& map, int x, int y, int z, int w,
                                                      u32 barrier, u16 blocks, u64 policy) {
  HOTGEMM_PTX(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7, %8;" ::"r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier), "h"(blocks), "l"(policy)
      : "memory");
}

// ---- shared to global: in groups of the issuing thread ----

HOTGEMM_DEVICE void cp_async_bulk_tensor_2d_store(const TensorMap& map, int x, int y, u32 shared) {
  HOTGEMM_PTX("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
              "r"(y), "r"(shared)
              : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_3d_store(const TensorMap& map, int x, int y, int z, u32 shared) {
  HOTGEMM_PTX("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
              "r"(x), "r"(y), "r"(z), "r"(shared)
              : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_tensor_4d_store(const TensorMap& map, int x, int y, int z, int w, u32 shared) {
  HOTGEMM_PTX("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
              "r"(x), "r"(y), "r"(z), "r"(w), "r"(shared)
              : "memory");
}
HOTGEMM_DEVICE void cp_async_bulk_commit_group() { HOTGEMM_PTX("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most kPending of this thread's most recent groups are still in flight.
template <int kPending>
HOTGEMM_DEVICE void cp_async_bulk_wait_group() {
  HOTGEMM_PTX("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
/// The same, but the older groups have only finished reading shared memory.
template <int kPending>
HOTGEMM_DEVICE void cp_async_bulk_wait_group_read() {
  HOTGEMM_PTX("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

/// fence.proxy.async: makes this thread's writes to shared memory visible to the copy engine and the tensor cores.
HOTGEMM_DEVICE void fence_proxy_async() { HOTGEMM_PTX("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace hotgemm::ptx
