// Instructions of templates/ptx that no family uses yet compile for the architectures that they name.

#include "config/render.hpp"
#include "config/wgmma_instruction.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace hotgemm {
namespace {

constexpr std::string_view kWarp = R"(
#include "ptx/memory.hpp"
#include "ptx/named_barrier.hpp"
#include "ptx/warp.hpp"
using namespace hotgemm;
extern "C" __global__ void hotgemm_instructions(const __grid_constant__ u64 out) {
  u32 x = ptx::shfl_sync_idx_b32(1, 2, 31, ~0u) + ptx::shfl_sync_up_b32(1, 2, 0, ~0u) +
          ptx::shfl_sync_down_b32(1, 2, 31, ~0u) + ptx::shfl_sync_bfly_b32(1, 2, 31, ~0u);
  x += ptx::vote_sync_ballot(x > 3, ~0u);
  if (ptx::vote_sync_all(x > 4, ~0u) || ptx::vote_sync_any(x > 5, ~0u)) ++x;
  ptx::bar_warp_sync(~0u);
  ptx::bar_arrive(1, 64);
  ptx::bar_sync(1, 64);
  ptx::st_global_b32(out, x);
})";

constexpr std::string_view kStmatrix = R"(
#include "ptx/memory.hpp"
#include "ptx/stmatrix.hpp"
using namespace hotgemm;
extern "C" __global__ void hotgemm_instructions() {
  const u32 r[4] = {1, 2, 3, 4};
  ptx::stmatrix_x4(ptx::dynamic_shared_base(), r);
  ptx::stmatrix_x4_trans(ptx::dynamic_shared_base() + 512, r);
})";

constexpr std::string_view kHopper = R"(
#include "ptx/bulk_copy.hpp"
#include "ptx/cluster.hpp"
#include "ptx/elect.hpp"
#include "ptx/grid_dependency.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/memory.hpp"
#include "ptx/trap.hpp"
using namespace hotgemm;
extern "C" __global__ void __cluster_dims__(2, 1, 1) hotgemm_instructions(const __grid_constant__ TensorMap map) {
  const u32 shared = ptx::dynamic_shared_base(), barrier = shared + 4096;
  ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();
  ptx::mbarrier_init(barrier, 1);
  ptx::fence_mbarrier_init();
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
  if (ptx::elect_sync()) {
    ptx::prefetch_tensormap(map);
    ptx::cp_async_bulk_prefetch_l2(0x1000, 64);
    ptx::mbarrier_arrive_expect_tx(barrier, 4096);
    ptx::cp_async_bulk_tensor_2d_load(shared, map, 1, 2, barrier);
    ptx::cp_async_bulk_tensor_2d_load(shared, map, 1, 2, barrier, 0x1000000000000000);
    ptx::cp_async_bulk_tensor_2d_multicast(shared, map, 1, 2, barrier, 3);
    ptx::cp_async_bulk_tensor_2d_multicast(shared, map, 1, 2, barrier, 3, 0x1000000000000000);
    ptx::cp_async_bulk_tensor_4d_load(shared, map, 1, 2, 3, 4, barrier);
    ptx::cp_async_bulk_tensor_4d_load(shared, map, 1, 2, 3, 4, barrier, 0x1000000000000000);
    ptx::cp_async_bulk_tensor_4d_multicast(shared, map, 1, 2, 3, 4, barrier, 3);
    ptx::cp_async_bulk_tensor_4d_multicast(shared, map, 1, 2, 3, 4, barrier, 3, 0x1000000000000000);
    ptx::mbarrier_arrive(barrier);
    ptx::mbarrier_arrive_cluster(ptx::mapa(barrier, ptx::cluster_ctarank() ^ 1));
  }
  if (!ptx::mbarrier_try_wait_parity(barrier, 0)) ptx::trap();
  ptx::fence_proxy_async();
  ptx::cp_async_bulk_tensor_2d_store(map, 1, 2, shared);
  ptx::cp_async_bulk_tensor_4d_store(map, 1, 2, 3, 4, shared);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read<1>();
  ptx::cp_async_bulk_wait_group<0>();
})";

constexpr std::string_view kWgmma = R"(
#include "ptx/memory.hpp"
#include "ptx/wgmma.hpp"
using namespace hotgemm;
extern "C" __global__ void __launch_bounds__(384, 1) hotgemm_instructions(const __grid_constant__ u64 out) {
  float d = 1;
  u32 bits = 1;
  ptx::setmaxnreg_dec<40>();
  ptx::setmaxnreg_inc<232>();
  ptx::wgmma_fence();
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<1>();
  ptx::pin(d);
  ptx::pin(bits);
  ptx::st_global_b32(out, bits);
})";

class Instructions : public testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc::get();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static void compile(std::string_view text, const std::string& arch) {
    const TemplateBundle bundle = TemplateBundle::embedded();
    KernelSource source = render_check(arch, bundle);  // for its options
    source.symbol = "hotgemm_instructions";
    source.text = text;
    EXPECT_FALSE(Nvrtc::get().compile(source, bundle).image.empty());
  }
};

TEST_F(Instructions, OfWarpsAndNamedBarriersAreThoseOfAnyArchitecture) {
  for (const char* arch : {"sm_75", "sm_80", "sm_90a", "sm_120"}) EXPECT_NO_THROW(compile(kWarp, arch)) << arch;
}

TEST_F(Instructions, StmatrixNeedsHopper) {
  for (const char* arch : {"sm_90a", "sm_120"}) EXPECT_NO_THROW(compile(kStmatrix, arch)) << arch;
  EXPECT_THROW(compile(kStmatrix, "sm_80"), Error);
}

TEST_F(Instructions, OfClustersAndBulkCopiesNeedHopper) {
  for (const char* arch : {"sm_90a", "sm_120"}) EXPECT_NO_THROW(compile(kHopper, arch)) << arch;
  EXPECT_THROW(compile(kHopper, "sm_80"), Error);
}

TEST_F(Instructions, OfWarpgroupsAreHoppersAlone) {
  EXPECT_NO_THROW(compile(kWgmma, "sm_90a"));
  for (const char* arch : {"sm_90", "sm_120"}) EXPECT_THROW(compile(kWgmma, arch), Error) << arch;
}

TEST_F(Instructions, WgmmaOfEveryWidthTypeAndLayout) {
  for (const DType accumulator : {DType::f32, DType::f16}) {
    std::string text = "#include \"ptx/device.hpp\"\n", body;
    for (int n = 8; n <= 256; n += 8) {
      WgmmaInstruction instruction{.n = n, .accumulator = accumulator};
      instruction.element = accumulator == DType::f32 && n % 16 == 0 ? DType::bf16 : DType::f16;
      instruction.element_b = instruction.element;
      instruction.a_is_k_major = n % 3 == 0;
      instruction.b_is_k_major = n % 5 < 2;
      const std::string name = "Wgmma" + std::to_string(n);
      text += wgmma_text(instruction, name);
      body += accumulator == DType::f32 ? "  { float d[" + std::to_string(n / 2)
                                        : "  { hotgemm::u32 d[" + std::to_string(n / 4);
      body += "] = {}; " + name + "::mma_async(d, 0, 0, false); }\n";
    }
    text += "extern \"C\" __global__ void __launch_bounds__(128, 1) hotgemm_instructions() {\n" + body + "}\n";
    EXPECT_NO_THROW(compile(text, "sm_90a")) << to_string(accumulator);
  }
}

TEST_F(Instructions, WgmmaOfEightBitsOfEveryWidth) {
  std::string text = "#include \"ptx/device.hpp\"\n", body;
  const auto add = [&](const WgmmaInstruction& instruction, const std::string& type) {
    const std::string name = "Wgmma" + std::string(to_string(instruction.element)) + std::to_string(instruction.n);
    text += wgmma_text(instruction, name);
    body += "  { " + type + " d[" + std::to_string(instruction.n / 2) + "] = {}; " + name +
            "::mma_async(d, 0, 0, false); }\n";
  };
  for (int n = 8; n <= 256; n += 8) {
    const DType a = n % 16 == 0 ? DType::e4m3 : DType::e5m2, b = n % 24 == 0 ? DType::e4m3 : DType::e5m2;
    add({.n = n, .element = a, .element_b = b}, "float");
    if (n % 16 == 0 || n < 32) add({.n = n, .element = DType::s8, .accumulator = DType::s32}, "hotgemm::u32");
  }
  text += "extern \"C\" __global__ void __launch_bounds__(128, 1) hotgemm_instructions() {\n" + body + "}\n";
  EXPECT_NO_THROW(compile(text, "sm_90a"));
}

}  // namespace
}  // namespace hotgemm
