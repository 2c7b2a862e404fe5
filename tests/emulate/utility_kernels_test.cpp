// The kernels that fill operands and check results, and the kernel that measures the ceiling.

#include "emulate/kernels/utility_kernels.hpp"

#include "emulate/device_fixture.hpp"

#include "emulate/gemm_case.hpp"
#include "unit/plan_fixture.hpp"

#include <algorithm>
#include <cmath>

namespace hotgemm::emulate {
namespace {

constexpr unsigned kSeed = 5;
constexpr int kRows = 37, kCols = 70, kDepth = 90;

class UtilityKernels : public EmulatedDevice {
 protected:
  /// A matrix of kRows × kCols elements that kernels may write and that has not been written.
  Allocation& result_matrix(DType dtype) {
    const std::int64_t bytes = size_bytes(dtype);
    return device_.memory().add({.name = "D",
                                 .rows = kRows,
                                 .row_bytes = kCols * bytes,
                                 .pitch_bytes = kLd * bytes,
                                 .cell_bytes = std::min(static_cast<int>(bytes), 2),
                                 .is_writable = true});
  }
  static HostMatrix host_matrix(DType dtype) {
    HostMatrix matrix{.rows = kRows, .cols = kCols, .ld = kLd, .element_bytes = size_bytes(dtype)};
    matrix.bytes.resize(static_cast<std::size_t>(kRows * matrix.pitch_bytes()));
    return matrix;
  }
  static HostMatrix download(const Allocation& allocation, DType dtype) {
    HostMatrix matrix = host_matrix(dtype);
    for (std::int64_t row = 0; row < kRows; ++row) {
      allocation.load(row, 0, matrix.bytes.data() + row * matrix.pitch_bytes(),
                      static_cast<std::size_t>(matrix.row_bytes()));
    }
    return matrix;
  }
  HostMatrix fill(DType dtype, FillPattern pattern, bool transposed) {
    const Allocation& d = result_matrix(dtype);
    const FillArgs args{.matrix = d.address(),
                        .ld = kLd,
                        .stride = 0,
                        .matrices = 1,
                        .rows = kRows,
                        .cols = kCols,
                        .k_extent = transposed ? kRows : kCols,
                        .transposed = transposed ? 1 : 0,
                        .seed = kSeed,
                        .pattern = pattern,
                        .dtype = dtype};
    const LaunchReport report = run([&] { run_fill(args); }, {.threads = 256, .blocks = 3, .shared_bytes = 0});
    EXPECT_TRUE(report.findings.empty()) << text(report.findings);
    return download(d, dtype);
  }

  static constexpr int kLd = kCols + 2;
};

TEST_F(UtilityKernels, FillWritesTheCheckData) {
  for (int type = 0; type < kElementTypes; ++type) {
    const auto dtype = static_cast<DType>(type);
    for (const bool transposed : {false, true}) {
      const int stride = check_stride(transposed ? kRows : kCols);
      const HostMatrix a = fill(dtype, FillPattern::check_a, transposed);
      const HostMatrix b = fill(dtype, FillPattern::check_b, transposed);
      const HostMatrix c = fill(dtype, FillPattern::check_c, transposed);
      for (int row = 0; row < kRows; ++row) {
        for (int col = 0; col < kCols; ++col) {
          const int i = transposed ? col : row, j = transposed ? row : col;
          ASSERT_EQ(a.get(dtype, row, col), static_cast<float>(check_value_a(kSeed, i, j, stride)));
          ASSERT_EQ(b.get(dtype, row, col), static_cast<float>(check_value_b(kSeed, i, j)));
          ASSERT_EQ(c.get(dtype, row, col), static_cast<float>(check_value_c(kSeed, i, j)));
        }
      }
    }
  }
}

TEST_F(UtilityKernels, FillDrawsNormalVariables) {
  const HostMatrix d = fill(DType::f32, FillPattern::normal, false);
  double sum = 0, squares = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int col = 0; col < kCols; ++col) {
      const double value = d.get(DType::f32, row, col);
      sum += value;
      squares += value * value;
    }
  }
  EXPECT_NEAR(sum / (kRows * kCols), 0, 0.1);
  EXPECT_NEAR(squares / (kRows * kCols), 1, 0.1);
}

class CheckOfType : public UtilityKernels, public testing::WithParamInterface<DType> {};

TEST_P(CheckOfType, FindsTheOneElementThatIsWrong) {
  constexpr int kAlpha = 2, kBeta = -1;
  for (const int wrong : {0, 1}) {
    HostMatrix right = host_matrix(GetParam());
    for (int row = 0; row < kRows; ++row) {
      for (int col = 0; col < kCols; ++col) {
        const int product = check_product(kSeed, row, col, kDepth, check_stride(kDepth));
        right.set(GetParam(), row, col, static_cast<float>(kAlpha * product + kBeta * check_value_c(kSeed, row, col)));
      }
    }
    if (wrong != 0) right.set(GetParam(), 20, 69, right.get(GetParam(), 20, 69) + 8);
    Allocation& d = result_matrix(GetParam());
    for (std::int64_t row = 0; row < kRows; ++row) {
      d.store(row, 0, right.bytes.data() + row * right.pitch_bytes(), static_cast<std::size_t>(right.row_bytes()));
    }
    Allocation& memory = device_.memory().add({.name = "report",
                                               .rows = 1,
                                               .row_bytes = sizeof(CheckReport),
                                               .pitch_bytes = sizeof(CheckReport),
                                               .is_writable = true});
    CheckReport report{};
    memory.store(0, 0, &report, sizeof report);
    const CheckArgs args{.d = d.address(),
                         .report = memory.address(),
                         .ldd = kLd,
                         .stride_d = 0,
                         .products = 1,
                         .m = kRows,
                         .n = kCols,
                         .k = kDepth,
                         .alpha = kAlpha,
                         .beta = kBeta,
                         .seed = kSeed,
                         .dtype = GetParam()};
    const LaunchReport launch = run([&] { run_check(args); }, {.threads = 256, .blocks = 2, .shared_bytes = 0});
    EXPECT_TRUE(launch.findings.empty()) << text(launch.findings);
    memory.load(0, 0, &report, sizeof report);
    EXPECT_EQ(report.mismatches, static_cast<unsigned>(wrong));
    EXPECT_EQ(report.row, wrong * 20);
    EXPECT_EQ(report.col, wrong * 69);
  }
}

INSTANTIATE_TEST_SUITE_P(UtilityKernels, CheckOfType,
                         testing::Values(DType::f16, DType::s32, DType::s8, DType::e4m3, DType::e5m2),
                         [](const auto& info) { return std::string(to_string(info.param)); });

/// The number of instructions of one iteration of a launch, counted per warp.
double executions(const CeilingKind& kind) {
  const double flops = kind.instruction == CeilingInstruction::wgmma
                           ? 2.0 * kWgmmaM * kCeilingTileB.outer * kWgmmaKBytes / size_bytes(kind.element) / 4
                           : 2.0 * kMmaM * kMmaN * kMmaK;
  return ceiling_flops(kind.instruction, kind.element, 1, 1) / flops;
}

Instruction counted(const CeilingKind& kind) {
  if (kind.instruction == CeilingInstruction::wgmma) return Instruction::wgmma_mma_async;
  if (kind.element == DType::bf16) return Instruction::mma_m16n8k16_f32_bf16;
  return kind.accumulator == DType::f16 ? Instruction::mma_m16n8k16_f16_f16 : Instruction::mma_m16n8k16_f32_f16;
}

TEST_F(UtilityKernels, CeilingsTakeAwayInEverySecondIterationWhatTheFirstHasAdded) {
  for (const CeilingInstruction instruction : {CeilingInstruction::mma, CeilingInstruction::wgmma}) {
    for (const CeilingKind& kind : ceiling_kinds(instruction)) {
      double mean_sum[2] = {};
      for (const int iterations : {1, 2}) {
        const auto bytes = ceiling_result_bytes(1);
        const Allocation& sums = device_.memory().add(
            {.name = "sums", .rows = 1, .row_bytes = bytes, .pitch_bytes = bytes, .is_writable = true});
        const CeilingArgs args{.results = sums.address(), .iterations = iterations, .seed = kSeed};
        const LaunchReport report =
            run([&] { run_ceiling(kind, args); },
                {.threads = kCeilingThreads, .shared_bytes = ceiling_shared_bytes(instruction)});
        EXPECT_TRUE(report.findings.empty()) << text(report.findings);
        EXPECT_EQ(static_cast<double>(report.counters[counted(kind)].executions), iterations * executions(kind));
        for (int thread = 0; thread < kCeilingThreads; ++thread) {
          float sum = 0;
          sums.load(0, thread * 4, &sum, sizeof sum);
          ASSERT_TRUE(std::isfinite(sum));
          mean_sum[iterations - 1] += std::abs(sum) / kCeilingThreads;
        }
      }
      EXPECT_GT(mean_sum[0], 1);
      EXPECT_LT(mean_sum[1], 0.05 * mean_sum[0]);
    }
  }
}

}  // namespace
}  // namespace hotgemm::emulate
