// Large leading dimensions are accepted or refused by the number of bytes that the matrix spans.

#include "context_impl.hpp"
#include "standin/runtime_fixture.hpp"

#include "gpu/device_buffer.hpp"
#include "runtime/validate.hpp"

#include <limits>
#include <optional>

namespace hotgemm::standin {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// 2×16×24 with beta 1. Its pointers are never followed.
struct Call {
  Problem problem{.m = 2, .n = 16, .k = 24};
  Operands operands{.a = pointer(0x10000),
                    .b = pointer(0x20000),
                    .c = pointer(0x30000),
                    .d = pointer(0x40000),
                    .lda = 24,
                    .ldb = 16,
                    .ldc = 16,
                    .ldd = 16,
                    .beta = 1};
  static void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
};

struct Ld {
  const char* name;
  std::int64_t Operands::*ld;
  std::int64_t rows;  // of the matrix in a Call
};
constexpr Ld kLds[] = {
    {"lda", &Operands::lda, 2}, {"ldb", &Operands::ldb, 24}, {"ldc", &Operands::ldc, 2}, {"ldd", &Operands::ldd, 2}};

class LeadingDimensionTest : public RuntimeTest {
 protected:
  /// Device memory of f16 ones.
  DeviceBuffer ones(std::size_t bytes) const {
    DeviceBuffer buffer(driver_, bytes);
    const std::vector<std::uint16_t> values(bytes / 2, narrow_f16(1));
    EXPECT_EQ(driver_.cuMemcpyHtoD(buffer.get(), values.data(), bytes), CUDA_SUCCESS);
    return buffer;
  }
  static void* at(const DeviceBuffer& buffer, std::int64_t element = 0) {
    return reinterpret_cast<void*>(buffer.get() + static_cast<CUdeviceptr>(2 * element));
  }
  std::vector<float> read(const DeviceBuffer& buffer, std::size_t count) const {
    std::vector<std::uint16_t> bits(count);
    EXPECT_EQ(driver_.cuMemcpyDtoH(bits.data(), buffer.get(), 2 * count), CUDA_SUCCESS);
    std::vector<float> values;
    for (const std::uint16_t value : bits) values.push_back(widen_f16(value));
    return values;
  }
};

TEST_F(LeadingDimensionTest, FewRowsMayBeFarApart) {
  for (const Ld& which : kLds) {
    for (const std::int64_t ld : {(std::int64_t{1} << 30) + 1, std::int64_t{1} << 33, std::int64_t{1} << 45}) {
      Call call;
      call.operands.*which.ld = ld;
      EXPECT_NO_THROW(validate(call.problem, call.operands)) << which.name << " " << ld;
    }
  }
}

// A kernel computes offsets of up to 1024 rows beyond the last row before it compares with the edge.
TEST_F(LeadingDimensionTest, ByteOffsetsMustNotOverflow) {
  for (const Ld& which : kLds) {
    for (const DType dtype : {DType::f16, DType::f32}) {
      Call call;
      call.problem.types = uniform_types(dtype);
      const std::int64_t most = kMost / size_bytes(dtype) / (which.rows + 1024);
      call.operands.*which.ld = most;
      EXPECT_NO_THROW(validate(call.problem, call.operands)) << which.name;
      call.operands.*which.ld = most + 1;
      expect_thrown(
          ErrorCode::invalid_argument,
          {std::string(which.name) + " is " + std::to_string(most + 1), std::to_string(which.rows) + " rows", "2^63"},
          [&] { validate(call.problem, call.operands); });
    }
  }
}

TEST_F(LeadingDimensionTest, TheLastByteMustHaveAnAddress) {
  Call call;
  call.operands.lda = std::int64_t{1} << 51;
  call.operands.a = Call::pointer(std::numeric_limits<std::uintptr_t>::max() - 0xffff);
  expect_thrown(ErrorCode::invalid_argument, {"lda is 2251799813685248", "2 rows", "address"},
                [&] { validate(call.problem, call.operands); });
}

TEST_F(LeadingDimensionTest, RowsOfGibibytesAreMultiplied) {
  constexpr std::int64_t kFar = (std::int64_t{1} << 30) + 64;
  const DeviceBuffer a(driver_, static_cast<std::size_t>(2 * (kFar + 24))), b = ones(2 * 24 * 16), d = ones(2 * 32);
  for (const std::int64_t row : {std::int64_t{0}, kFar}) {
    const std::vector<std::uint16_t> values(24, narrow_f16(row == 0 ? 1.0f : 2.0f));
    ASSERT_EQ(driver_.cuMemcpyHtoD(a.get() + static_cast<CUdeviceptr>(2 * row), values.data(), 48), CUDA_SUCCESS);
  }
  context(Policy::estimate)
      .gemm(stream(), {.m = 2, .n = 16, .k = 24},
            {.a = at(a), .b = at(b), .d = at(d), .lda = kFar, .ldb = 16, .ldd = 16});
  std::vector<float> expected(16, 24.0f);
  expected.resize(32, 48.0f);
  EXPECT_EQ(read(d, 32), expected);
}

// ---- the stride of a tensor map is below 2^40 bytes ----

constexpr std::int64_t kBeyondMaps = std::int64_t{1} << 39;  // f16 elements

class TensorMapStrideTest : public LeadingDimensionTest {
 protected:
  void SetUp() override {
    LeadingDimensionTest::SetUp();
    a_ = ones(256), b_ = ones(512), d_ = ones(256);
  }
  void TearDown() override {
    a_.reset(), b_.reset(), d_.reset();
    LeadingDimensionTest::TearDown();
  }

  static constexpr WgmmaConfig kConfig{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .blocks_per_sm = 2};
  /// 1×16×8 in layout nt: A has one row. With `b_has_one_row`, 1×16×1 in layout nn: A and B have one row. D always has
  /// one row.
  static Problem problem_of(bool b_has_one_row) {
    return b_has_one_row ? Problem{.m = 1, .n = 16, .k = 1} : Problem{.m = 1, .n = 16, .k = 8, .op_b = Op::t};
  }
  Operands operands(const Problem& p) const {
    return {.a = at(*a_), .b = at(*b_), .d = at(*d_), .lda = 8, .ldb = p.op_b == Op::t ? 8 : 16, .ldd = 16};
  }
  /// Records a wgmma config for the problem, with the hints of operands with usual leading dimensions.
  void record_wgmma(const Problem& problem) {
    Engine& engine = impl_of(context(Policy::estimate)).engine();
    engine.database.add({.problem = describe(problem, operands(problem)),
                         .config = kConfig,
                         .launch = {2, false},
                         .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = impl_of(context()).current().environment(),
                         .template_digest = engine.template_digest(kConfig)});
  }
  void poison_d() const {
    const std::vector<std::uint16_t> nan(128, 0x7e00);
    ASSERT_EQ(driver_.cuMemcpyHtoD(d_->get(), nan.data(), 256), CUDA_SUCCESS);
  }
  std::vector<float> row_of_d() const { return read(*d_, 16); }

  std::optional<DeviceBuffer> a_, b_, d_;
};

TEST_F(TensorMapStrideTest, FartherRowsTakeAKernelWithoutMaps) {
  for (const bool b_has_one_row : {false, true}) {
    const Problem problem = problem_of(b_has_one_row);
    record_wgmma(problem);
    const Operands usual = operands(problem);
    context().gemm(stream(), problem, usual);
    const std::size_t by_wgmma = standin().launches("wgmma");
    EXPECT_EQ(by_wgmma, b_has_one_row ? 2u : 1u);
    for (std::int64_t Operands::*const ld : {&Operands::lda, &Operands::ldb}) {
      if (ld == &Operands::ldb && !b_has_one_row) continue;
      Operands far = usual;
      far.*ld = kBeyondMaps;
      poison_d();
      EXPECT_NO_THROW(context().gemm(stream(), problem, far));
      EXPECT_EQ(row_of_d(), std::vector<float>(16, static_cast<float>(problem.k)));
      EXPECT_EQ(standin().launches("wgmma"), by_wgmma);
    }
  }
}

TEST_F(TensorMapStrideTest, FartherRowsOfDTakeNoMapOfD) {
  const Problem problem = problem_of(false);
  record_wgmma(problem);
  Operands far = operands(problem);
  far.ldd = kBeyondMaps;
  poison_d();
  EXPECT_NO_THROW(context().gemm(stream(), problem, far));
  EXPECT_EQ(row_of_d(), std::vector<float>(16, 8.0f));
}

TEST_F(TensorMapStrideTest, APlanNamesTheLimit) {
  const Problem problem = problem_of(true);
  record_wgmma(problem);
  const Plan plan = context().plan(describe(problem, operands(problem)));
  ASSERT_TRUE(plan.config().starts_with("wgmma")) << plan.config();
  for (std::int64_t Operands::*const ld : {&Operands::lda, &Operands::ldb, &Operands::ldd}) {
    Operands near = operands(problem), far = near;
    near.*ld = kBeyondMaps - 8;
    EXPECT_NO_THROW(plan.launch(stream(), near));
    far.*ld = kBeyondMaps;
    const std::size_t launches = standin().launches();
    expect_thrown(ErrorCode::not_supported, {"2^40 bytes", "leading dimension"}, [&] { plan.launch(stream(), far); });
    EXPECT_EQ(standin().launches(), launches);
  }
}

}  // namespace
}  // namespace hotgemm::standin
