// Launches that repack operands, on exact data with guards around all operands: every misalignment, all layouts, types
// of 16 bits and those that must be transposed, one operand or both, in eager launches that follow each other without a
// wait.

#include "gpu/gpu_fixture.hpp"
#include "gpu/misaligned_case.hpp"

#include "config/repack.hpp"
#include "config/workspace.hpp"
#include "gpu/device_buffer.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace hotgemm {
namespace {

constexpr WgmmaConfig kConfig{.block_m = 128, .block_n = 64, .stages = 4};

class RepackOnGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && gpu().arch() != "sm_90a") GTEST_SKIP() << "needs sm_90a, not " << gpu().arch();
  }

  /// Runs the case three times on one workspace, whose content was not zero, and expects the right D and no write
  /// elsewhere. In place, a second launch would add to the first one's D, so that the case runs once.
  void expect_right(const GemmCase& c, bool programmatic, const KernelConfig& config = kConfig) {
    const Workload problem = c.described();
    LaunchConfig launch = with_repacks({}, config, problem);
    launch.programmatic = programmatic;
    ASSERT_TRUE(repacks(launch)) << c.text();
    const Gpu::Kernel kernel = gpu().kernel(config, traits_of(problem, launch));
    const auto repack = gpu().state().repack_kernel();
    const WorkspaceSize size = workspace_size(config, launch, problem);
    const DeviceBuffer memory(driver(), size.total_bytes() + kGuardBytes);
    driver().check(driver().cuMemsetD8Async(memory.get(), 0xff, memory.bytes(), stream()), "poison the workspace");
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run([&](const Operands& operands) {
      for (int i = 0; i < (c.in_place ? 1 : 3); ++i) {
        driver().check(launch_gemm(driver(), *kernel, launch, problem.m, problem.n, problem.k, operands, stream(),
                                   {.scratch = memory.get(), .counters = 0}, repack.get()),
                       "launch with repacked operands");
      }
    });
    EXPECT_EQ(run.inexact(), "") << c.text();
    EXPECT_EQ(run.stray_write(), "") << c.text();
    std::vector<std::uint8_t> guard(kGuardBytes);
    driver().check(driver().cuMemcpyDtoHAsync(guard.data(), memory.get() + size.total_bytes(), kGuardBytes, stream()),
                   "read the guard");
    driver().check(driver().cuStreamSynchronize(stream()), "wait");
    for (const std::uint8_t byte : guard) ASSERT_EQ(byte, 0xff) << c.text();
  }

  static constexpr std::size_t kGuardBytes = 256;
};

TEST_F(RepackOnGpu, IsExactForEveryMisalignment) {
  const int step = small_run() ? 3 : 1;
  for (int offset = 0; offset < 8; offset += step) {
    for (const std::int64_t k : {13, 64, 193}) {
      for (int layout = 0; layout < 4; ++layout) {
        expect_right(misaligned_case(k, layout, offset), offset % 2 == 0);
      }
    }
  }
}

TEST_F(RepackOnGpu, IsExactForOneOperand) {
  for (const int offset : {1, 2, 4}) {
    GemmCase c;
    c.problem = {.m = 256, .n = 128, .k = 320};
    c.set_tight_ld(8);
    c.offset_b = offset;
    expect_right(c, false);
    c.offset_a = offset;
    c.offset_b = 0;
    c.beta = 1;
    c.in_place = true;
    expect_right(c, true);
  }
}

/// Rows along m and n that are shorter than a line: both operands are copied as their transposes.
TEST_F(RepackOnGpu, IsExactForNarrowOperands) {
  for (const std::int64_t m : {1, 7, 31, 46}) {
    for (const std::int64_t n : {9, 62}) {
      for (const std::int64_t k : {13, 193}) {
        for (const int offset : {0, 1, 2}) {
          GemmCase c;
          c.problem = {.m = m, .n = n, .k = k, .op_a = Op::t};
          c.set_tight_ld(1);
          c.offset_a = c.offset_b = offset;
          const LaunchConfig launch = with_repacks({}, kConfig, c.described());
          ASSERT_EQ(launch.repack_a, Repack::transposed) << c.text();
          ASSERT_EQ(launch.repack_b, Repack::transposed) << c.text();
          expect_right(c, offset == 1);
        }
      }
    }
  }
}

/// The config of each family of tensor cores for these types.
WgmmaConfig wgmma_for(const Types& types) {
  WgmmaConfig config = kConfig;
  config.block_k = typed_block_k(config.block_k, types.a);
  config.promote = is_fp8(types.a);
  return config;
}
MmaConfig mma_for(const Types& types) {
  return {.block_m = 64,
          .block_n = 64,
          .block_k = typed_block_k(32, types.a),
          .stages = 3,
          .fragment_buffers = 1,
          .store = kDirectStore};
}

TEST_F(RepackOnGpu, IsExactForElementsOfOtherThan16Bits) {
  for (const Types& types : {kTf32, kS8, kE4m3, kE5m2}) {
    for (int layout = 0; layout < 4; ++layout) {
      for (const int offset : {0, 1, 3, 4}) {
        for (const std::int64_t k : {13, 64, 193}) {
          GemmCase c;
          c.problem = {.m = 137,
                       .n = 75,
                       .k = k,
                       .op_a = layout / 2 == 0 ? Op::n : Op::t,
                       .op_b = layout % 2 == 0 ? Op::n : Op::t,
                       .types = types};
          c.set_tight_ld(offset == 0 ? 16 : 1);
          c.offset_a = c.offset_b = offset;
          if (small_run() && (offset == 3 || k == 64)) continue;
          for (const KernelConfig& config : {KernelConfig(wgmma_for(types)), KernelConfig(mma_for(types))}) {
            if (repacks(with_repacks({}, config, c.described())))
              expect_right(c, offset == 1 && std::holds_alternative<WgmmaConfig>(config), config);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotgemm
