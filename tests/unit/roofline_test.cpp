#include "ladder/roofline.hpp"

#include "config/traits.hpp"

#include <gtest/gtest.h>

namespace hotgemm {
namespace {

/// A problem as the source material counts it: C is read and written.
Workload sgemm(std::int64_t size) {
  Workload problem(Problem{.m = size, .n = size, .k = size, .types = kF32});
  problem.hints.beta_is_zero = false;
  return problem;
}

DeviceInfo rtx_4090() {
  return {.arch = "sm_89", .name = "RTX 4090", .sm_count = 128, .clock_mhz = 2520, .dram_gbps = 1008};
}

double intensity(const ReuseTile& tile, std::int64_t size) {
  return flops(sgemm(size)) / traffic_bytes(tile, sgemm(size));
}

// The numbers in the SGEMM material, for an RTX 4090.
TEST(Roofline, DeviceRatio) {
  EXPECT_NEAR(device_ratio(82, 1008), 81.3, 0.05);
  const double peak = peak_tflops(Pipe::cuda_f32, rtx_4090());
  EXPECT_NEAR(peak, 82.6, 0.05);
  EXPECT_NEAR(device_ratio(peak, rtx_4090().dram_gbps), 81.3, 0.02 * 81.3);
}

TEST(Roofline, OfTheProblem) {
  EXPECT_DOUBLE_EQ(flops(sgemm(1024)) / least_bytes(sgemm(1024)), 128);
  EXPECT_DOUBLE_EQ(flops(sgemm(2048)) / least_bytes(sgemm(2048)), 256);
}

TEST(Roofline, OfTheMaterialsKernels) {
  EXPECT_NEAR(intensity({1, 1}, 1024), 0.25, 0.001);    // naive
  EXPECT_NEAR(intensity({32, 32}, 1024), 7.76, 0.005);  // block tiling; 8 without C
  EXPECT_NEAR(1 / (1 / intensity({32, 32}, 1024) - 8.0 / 2048), 8, 1e-9);
  EXPECT_NEAR(intensity({64, 64}, 1024), 15.1, 0.05);  // thread tiling: 16×16 threads of 4×4
}

TEST(Roofline, ATileAtTheEdgeReadsWhatThereIs) {
  const Workload problem(Problem{.m = 100, .n = 10, .k = 7});
  EXPECT_DOUBLE_EQ(traffic_bytes({64, 8}, problem), 2.0 * (100 * 7 * 2 + 10 * 7 * 2 + 100 * 10));
}

TEST(Roofline, TilesAreThoseOfBlocksOrClusters) {
  const GemmTraits traits;
  EXPECT_EQ(reuse_tile(MmaConfig{.block_m = 128, .block_n = 256}, traits).cols, 256);
  const ReuseTile cluster = reuse_tile(WgmmaConfig{.cluster_m = 2}, traits);
  EXPECT_EQ(cluster.rows, 256);
  EXPECT_EQ(cluster.cols, 256);
}

TEST(Roofline, PipesByFamilyAndType) {
  GemmTraits f16;
  EXPECT_EQ(pipe_of(MmaConfig{}, f16), Pipe::tensor_f32);
  EXPECT_EQ(pipe_of(SimtConfig{}, f16), Pipe::cuda_f32);
  EXPECT_EQ(pipe_of(std::nullopt, f16), Pipe::tensor_f32);
  f16.accumulator = DType::f16;
  EXPECT_EQ(pipe_of(WgmmaConfig{}, f16), Pipe::tensor_f16);
  EXPECT_EQ(pipe_of(std::nullopt, traits_of(sgemm(1))), Pipe::cuda_f32);
  const GemmTraits s8{.element = DType::s8, .accumulator = DType::s32, .element_d = DType::s32};
  EXPECT_EQ(pipe_of(FmaConfig{}, s8), Pipe::cuda_s32);
  EXPECT_EQ(pipe_of(MmaConfig{}, s8), Pipe::tensor_s32);
  EXPECT_EQ(pipe_of(std::nullopt, s8), Pipe::tensor_s32);
  const GemmTraits tf32{.element = DType::tf32, .element_d = DType::f32};
  EXPECT_EQ(pipe_of(FmaConfig{}, tf32), Pipe::cuda_f32);
  EXPECT_EQ(pipe_of(WgmmaConfig{}, tf32), Pipe::tensor_tf32);
}

TEST(Roofline, RatesAreThoseOfDataSheets) {
  EXPECT_NEAR(peak_tflops(Pipe::tensor_f32, nominal_device("sm_90a")), 989, 2);
  EXPECT_NEAR(peak_tflops(Pipe::tensor_f32, nominal_device("sm_80")), 312, 1);
  EXPECT_NEAR(peak_tflops(Pipe::cuda_f16, nominal_device("sm_80")), 78, 0.5);
  EXPECT_NEAR(peak_tflops(Pipe::tensor_f32, nominal_device("sm_86")), 71, 0.5);
  EXPECT_NEAR(peak_tflops(Pipe::tensor_f16, nominal_device("sm_120")), 419, 1);
  EXPECT_NEAR(peak_tflops(Pipe::tensor_s32, nominal_device("sm_90a")), 1979, 4);
  EXPECT_NEAR(peak_tflops(Pipe::tensor_s32, nominal_device("sm_80")), 624, 2);
  EXPECT_NEAR(peak_tflops(Pipe::tensor_tf32, nominal_device("sm_90a")), 495, 2);
  EXPECT_EQ(to_string(Pipe::tensor_tf32), "tensor cores tf32");
  for (const std::string& arch : known_archs()) {
    const DeviceInfo device = nominal_device(arch);
    EXPECT_LT(peak_tflops(Pipe::cuda_f32, device), peak_tflops(Pipe::tensor_f32, device)) << arch;
  }
}

TEST(Roofline, TheLowerOfTheTwoBinds) {
  const Roofline small =
      roofline(SimtConfig{.block_m = 32, .block_n = 32, .thread_m = 1, .thread_n = 1}, sgemm(1024), rtx_4090());
  EXPECT_FALSE(small.is_compute_bound);
  EXPECT_NEAR(small.bound_tflops, 7.76 * 1.008, 0.01);
  const Roofline library = roofline(std::nullopt, sgemm(1024), rtx_4090());
  EXPECT_TRUE(library.is_compute_bound);
  EXPECT_DOUBLE_EQ(library.bound_tflops, library.peak_tflops);
  EXPECT_DOUBLE_EQ(library.intensity, 128);
}

}  // namespace
}  // namespace hotgemm
