#include "emulate/instruction.hpp"

#include <iterator>

namespace hotgemm::emulate {
namespace {

// In the order of the enumerators.
constexpr std::string_view kNames[] = {
    "no instruction",
    "ld.global.b16",
    "ld.global.b32",
    "ld.global.v2.b32",
    "ld.global.v4.b32",
    "st.global.b16",
    "st.global.b32",
    "st.global.v2.b32",
    "st.global.v4.b32",
    "red.global.add.u32",
    "red.global.add.u64",
    "red.global.max.u32",
    "ld.shared.b16",
    "ld.shared.b32",
    "ld.shared.f32",
    "ld.shared.v4.b32",
    "st.shared.b16",
    "st.shared.b32",
    "st.shared.v2.b32",
    "st.shared.v4.b32",
    "st.shared.f32",
    "cp.async.ca.4",
    "cp.async.ca.8",
    "cp.async.cg.16",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "bar.sync",
    "bar.arrive",
    "barrier.cluster.arrive",
    "barrier.cluster.wait",
    "mapa",
    "mbarrier.init",
    "fence.mbarrier_init",
    "mbarrier.arrive",
    "mbarrier.arrive.expect_tx",
    "mbarrier.arrive.shared::cluster",
    "mbarrier.try_wait.parity",
    "prefetch.tensormap",
    "cp.async.bulk.tensor load",
    "cp.async.bulk.tensor multicast",
    "cp.async.bulk.tensor store",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "cp.async.bulk.wait_group.read",
    "fence.proxy.async",
    "griddepcontrol.wait",
    "griddepcontrol.launch_dependents",
    "trap",
    "bar.warp.sync",
    "ldmatrix.x4",
    "ldmatrix.x4.trans",
    "stmatrix.x4",
    "mma.m16n8k16.f32.f16",
    "mma.m16n8k16.f32.bf16",
    "mma.m16n8k16.f16.f16",
    "shfl.sync.idx",
    "shfl.sync.up",
    "shfl.sync.down",
    "shfl.sync.bfly",
    "vote.sync.all",
    "vote.sync.any",
    "vote.sync.ballot",
    "elect.sync",
    "wgmma.fence",
    "wgmma.mma_async",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "setmaxnreg",
};
static_assert(std::size(kNames) == kInstructions);

}  // namespace

std::string_view to_string(Instruction instruction) { return kNames[static_cast<std::size_t>(instruction)]; }

}  // namespace hotgemm::emulate
