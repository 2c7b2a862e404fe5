#include "standin/standin_fixture.hpp"

#include <chrono>
#include <cmath>

namespace hotgemm::standin {
namespace {

class StandinKernelTest : public StandinTest {
 protected:
  struct Shape {
    DType dtype;
    Op op_a, op_b;
    int m, n, k;
    bool reads_c;
    int alpha, beta;
  };
  struct Launch {
    CUfunction kernel;
    unsigned blocks, threads, smem;
  };

  void fill(CUdeviceptr matrix, FillPattern pattern, const Shape& s, Op op, int rows, int cols) {
    const bool transposed = op == Op::t;
    const FillArgs args{.matrix = matrix,
                        .ld = transposed ? rows : cols,
                        .stride = 0,
                        .matrices = 1,
                        .rows = transposed ? cols : rows,
                        .cols = transposed ? rows : cols,
                        .k_extent = s.k,
                        .transposed = transposed,
                        .seed = 7,
                        .pattern = pattern,
                        .dtype = s.dtype};
    EXPECT_EQ(launch(function("hotgemm_fill"), args, 4, 256, 0), CUDA_SUCCESS);
  }
  CUdeviceptr matrix(const Shape& s, int rows, int cols) {
    return allocate(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) *
                    static_cast<std::size_t>(size_bytes(s.dtype)));
  }
  /// The report of hotgemm_check after the kernel has run on check data.
  CheckReport check(const Launch& kernel, const Shape& s) {
    GemmArgs args{};
    args.a = matrix(s, s.m, s.k), args.b = matrix(s, s.k, s.n), args.d = matrix(s, s.m, s.n);
    args.c = s.reads_c ? matrix(s, s.m, s.n) : 0;
    fill(args.a, FillPattern::check_a, s, s.op_a, s.m, s.k);
    fill(args.b, FillPattern::check_b, s, s.op_b, s.k, s.n);
    if (s.reads_c) fill(args.c, FillPattern::check_c, s, Op::n, s.m, s.n);
    args.lda = s.op_a == Op::n ? s.k : s.m, args.ldb = s.op_b == Op::n ? s.n : s.k, args.ldc = args.ldd = s.n;
    args.m = s.m, args.n = s.n, args.k = s.k;
    args.alpha = static_cast<float>(s.alpha), args.beta = static_cast<float>(s.beta), args.raster_width = 1;
    EXPECT_EQ(launch(kernel.kernel, args, kernel.blocks, kernel.threads, kernel.smem), CUDA_SUCCESS);
    const CUdeviceptr report = allocate(sizeof(CheckReport));
    EXPECT_EQ(driver_.cuMemsetD8Async(report, 0, sizeof(CheckReport), stream_), CUDA_SUCCESS);
    const CheckArgs check_args{args.d, report, s.n, 0, 1, s.m, s.n, s.k, s.alpha, s.beta, 7, s.dtype};
    EXPECT_EQ(launch(function("hotgemm_check"), check_args, 4, 256, 0), CUDA_SUCCESS);
    CheckReport found{};
    EXPECT_EQ(driver_.cuMemcpyDtoH(&found, report, sizeof found), CUDA_SUCCESS);
    return found;
  }
  Launch small_kernel() { return {function(kSmall), 6, 256, kSmallSmem}; }

  static constexpr Shape kShape{DType::f16, Op::n, Op::n, 40, 70, 100, false, 1, 0};  // 2 × 3 tiles of kSmall
};

TEST_F(StandinKernelTest, ComputesAProduct) {
  GemmArgs args = small();
  args.alpha = 0.5f;
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  EXPECT_EQ(read_f16(args.d, 64), std::vector<float>(64, 4.0f));
  EXPECT_EQ(standin().launches(), 1u);
}

TEST_F(StandinKernelTest, AgreesWithTheCheckDataInEveryLayout) {
  EXPECT_EQ(check(small_kernel(), kShape).mismatches, 0u);
  const Launch transposed{function(kTransposed), 6, 256, kSmallSmem};
  EXPECT_EQ(check(transposed, {DType::f32, Op::t, Op::t, 40, 70, 100, true, 2, -1}).mismatches, 0u);
  const Launch large{prepared(kLarge, 49152), 4, 128, 49152};
  EXPECT_EQ(check(large, {DType::f16, Op::n, Op::t, 136, 256, 64, false, 1, 0}).mismatches, 0u);
  const Launch bf16{prepared(kFourStages, 65536), 1, 128, 65536};
  EXPECT_EQ(check(bf16, {DType::bf16, Op::n, Op::t, 8, 8, 8, false, -1, 0}).mismatches, 0u);
  // Data of another layout and a wrong alpha must not pass.
  EXPECT_NE(check(small_kernel(), {DType::f16, Op::t, Op::n, 40, 70, 40, false, 1, 0}).mismatches, 0u);
}

TEST_F(StandinKernelTest, PropagatesNanAndInfinity) {
  const GemmArgs args = small();
  const std::uint16_t infinity = 0x7c00, zero = 0;
  driver_.cuMemcpyHtoD(args.b, &infinity, 2);      // B(0, 0)
  driver_.cuMemcpyHtoD(args.a + 8 * 2, &zero, 2);  // A(1, 0)
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  const std::vector<float> d = read_f16(args.d, 16);
  EXPECT_TRUE(std::isinf(d[0]));
  EXPECT_TRUE(std::isnan(d[8]));  // 0 * infinity
  EXPECT_EQ(d[1], 8.0f);
}

TEST_F(StandinKernelTest, PlantsBadCandidates) {
  standin().corrupt("simt", Corruption::wrong);
  EXPECT_EQ(check(small_kernel(), kShape).mismatches, 1u);
  standin().corrupt("simt", Corruption::nan);
  EXPECT_EQ(check(small_kernel(), kShape).mismatches, 1u);
  standin().corrupt("simt", Corruption::nothing);
  const CheckReport report = check(small_kernel(), kShape);
  EXPECT_EQ(report.mismatches, 2800u);
  EXPECT_EQ(report.row, 39);
  EXPECT_EQ(report.col, 69);
  standin().corrupt("mma", Corruption::nothing);
  standin().corrupt("simt", Corruption::none);
  EXPECT_EQ(check(small_kernel(), kShape).mismatches, 0u);
}

TEST_F(StandinKernelTest, NormalDataIsNormal) {
  const CUdeviceptr matrix = allocate(100 * 100 * 2);
  fill(matrix, FillPattern::normal, kShape, Op::n, 100, 100);
  double sum = 0, squares = 0;
  for (const float value : read_f16(matrix, 10000)) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.05);
}

TEST_F(StandinKernelTest, WrongAddressesLoseTheContext) {
  GemmArgs args = small();
  driver_.cuMemFree(args.b);
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);  // a launch does not wait
  EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  standin().reset();
  args = small();
  args.ldd = 9;  // the last row ends after D
  EXPECT_EQ(launch_small(args), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  standin().reset();
  args = small();
  args.a += 2;
  args.m = 1;
  EXPECT_EQ(launch(prepared(kLarge, 49152), args, 1, 128, 49152), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST_F(StandinKernelTest, NotesLaunchesThatDoNotFitTheConfig) {
  const GemmArgs args = small();
  EXPECT_EQ(launch(function(kSmall), args, 2, 256, kSmallSmem), CUDA_SUCCESS);
  expect_violation("2 blocks for 1 tiles");
  EXPECT_EQ(launch(function(kSmall), args, 1, 128, kSmallSmem), CUDA_SUCCESS);
  expect_violation("128 threads for 256");
  EXPECT_EQ(launch(function(kSmall), args, 1, 256, 0), CUDA_SUCCESS);
  expect_violation("0 bytes of shared memory for 2112");
  GemmArgs overlapping = args;
  overlapping.lda = 7;
  EXPECT_EQ(launch_small(overlapping), CUDA_SUCCESS);
  expect_violation("rows of A overlap");
  EXPECT_EQ(launch(function("other"), args, 1, 256, 0), CUDA_ERROR_INVALID_VALUE);
  expect_violation("unknown kernel other");
}

TEST_F(StandinKernelTest, LargeSharedMemoryNeedsTheAttribute) {
  GemmArgs args = small();
  const CUfunction kernel = function(kFourStages);
  EXPECT_EQ(launch(kernel, args, 1, 128, 65536), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver_.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 << 10),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(prepared(kFourStages, 65536), args, 1, 128, 65536), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel, args, 0, 128, 65536), CUDA_ERROR_INVALID_VALUE);
  int blocks = 0;
  EXPECT_EQ(driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 65536), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 3);
}

TEST_F(StandinKernelTest, KernelsDifferInSpeedAndRepeat) {
  CUevent events[4] = {};
  for (CUevent& event : events) driver_.cuEventCreate(&event, 0);
  GemmArgs args = small();
  const CUfunction first = function(kSmall), second = prepared(kLarge, 49152);
  driver_.cuEventRecord(events[0], stream_);
  launch(first, args, 1, 256, kSmallSmem);
  driver_.cuEventRecord(events[1], stream_);
  launch(first, args, 1, 256, kSmallSmem);
  driver_.cuEventRecord(events[2], stream_);
  launch(second, args, 1, 128, 49152);
  driver_.cuEventRecord(events[3], stream_);
  float times[3] = {};
  for (int i = 0; i < 3; ++i) driver_.cuEventElapsedTime(&times[i], events[i], events[i + 1]);
  EXPECT_GT(times[0], 0.0f);
  EXPECT_FLOAT_EQ(times[0], times[1]);
  EXPECT_NE(times[1], times[2]);
}

TEST_F(StandinKernelTest, IsFastEnoughForTests) {
  const Launch kernel{prepared(kLarge, 49152), 16, 128, 49152};
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(check(kernel, {DType::f16, Op::n, Op::t, 512, 512, 512, false, 1, 0}).mismatches, 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
}

}  // namespace
}  // namespace hotgemm::standin
