// Instructions of templates/ptx that no family uses yet compile where they are said to.

#include "gpu/nvrtc.hpp"
#include "plan/render.hpp"

#include <hotgemm/error.hpp>

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

}  // namespace
}  // namespace hotgemm
