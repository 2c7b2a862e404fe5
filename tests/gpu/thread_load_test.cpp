// Launches of wgmma kernels whose threads load operands, on exact data with guards around all operands: every
// misalignment, all layouts, both types, one operand or both, tiles beyond every edge, few rows.

#include "gpu/gpu_fixture.hpp"
#include "gpu/misaligned_case.hpp"

#include "config/traits.hpp"

#include <cstdint>
#include <vector>

namespace hotgemm {
namespace {

constexpr WgmmaConfig kConfigs[] = {
    {.block_m = 128, .block_n = 64, .stages = 4, .loaders = 2},
    {.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .loaders = 1},
    {.block_m = 64, .block_n = 128, .split_n = true, .stages = 4, .loaders = 2},
    {.block_m = 64, .block_n = 64, .consumers = 1, .stages = 4, .transposed = true, .loaders = 2},
};

class ThreadLoadOnGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && gpu().arch() != "sm_90a") GTEST_SKIP() << "needs sm_90a, not " << gpu().arch();
  }

  void expect_right(const GemmCase& c, const WgmmaConfig& config, bool programmatic) {
    const Workload problem = c.described();
    const GemmTraits traits = traits_of(problem);
    ASSERT_TRUE(is_legal(config, traits, arch_limits(gpu().arch()))) << c.text();
    const Gpu::Kernel kernel = gpu().kernel(config, traits);
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run([&](const Operands& operands) {
      for (int i = 0; i < (c.in_place ? 1 : 3); ++i) {
        driver().check(launch_gemm(driver(), *kernel, {.programmatic = programmatic}, problem.m, problem.n, problem.k,
                                   operands, stream()),
                       "launch with loads by threads");
      }
    });
    EXPECT_EQ(run.inexact(), "") << to_string(KernelConfig(config)) << " " << c.text();
    EXPECT_EQ(run.stray_write(), "") << to_string(KernelConfig(config)) << " " << c.text();
  }
};

TEST_F(ThreadLoadOnGpu, IsExactForEveryMisalignment) {
  const int step = small_run() ? 3 : 1;
  std::size_t turn = 0;
  for (int offset = 0; offset < 8; offset += step) {
    for (const std::int64_t k : {13, 64, 193, 515}) {
      for (int layout = 0; layout < 4; ++layout) {
        expect_right(misaligned_case(k, layout, offset), kConfigs[turn++ % std::size(kConfigs)], offset % 2 == 0);
      }
    }
  }
}

TEST_F(ThreadLoadOnGpu, IsExactForOneOperandAndWiderRows) {
  for (const int offset : {1, 2, 4}) {
    for (const WgmmaConfig& config : kConfigs) {
      GemmCase c;
      c.problem = {.m = 256, .n = 128, .k = 320};
      c.set_tight_ld(8);
      c.offset_b = offset;
      expect_right(c, config, false);
      c.offset_a = offset;
      c.offset_b = 0;
      c.beta = 1;
      c.in_place = true;
      expect_right(c, config, true);
      c.offset_b = offset;
      expect_right(c, config, false);
    }
  }
}

TEST_F(ThreadLoadOnGpu, IsExactForFewRows) {
  for (const std::int64_t m : {1, 2, 7, 16, 33, 64}) {
    for (const WgmmaConfig& config : kConfigs) {
      GemmCase c;
      c.problem = {.m = m, .n = 1001, .k = 777, .op_b = m % 2 == 0 ? Op::n : Op::t};
      c.set_tight_ld(1);
      expect_right(c, config, true);
    }
  }
}

TEST_F(ThreadLoadOnGpu, IsExactForManyTilesOfABlock) {
  GemmCase c;
  c.problem = {.m = 2047, .n = 1531, .k = 201};
  c.set_tight_ld(1);
  for (const WgmmaConfig& config : kConfigs) expect_right(c, config, false);
}

}  // namespace
}  // namespace hotgemm
