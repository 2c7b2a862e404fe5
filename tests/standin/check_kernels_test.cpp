#include "context_impl.hpp"
#include "standin/runtime_fixture.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"
#include "tune/exact_check.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hotgemm::standin {
namespace {

class CheckKernelsTest : public RuntimeTest {
 protected:
  /// Padding follows the rows of every matrix.
  static Workload padded(DType dtype) {
    return {{.m = 5, .n = 11, .k = 9, .types = uniform_types(dtype)},
            {.align_a = 16, .align_b = 16, .align_d = 16, .beta_is_zero = false}};
  }
  const CheckKernels& kernels() { return impl_of(context(Policy::estimate)).current().check_kernels(); }
  std::uint64_t digest(const Workload& problem, const OperandPool& pool) {
    return kernels().digest(problem, pool, pool.sets().front(), stream());
  }
  static void flip(CUdeviceptr byte) { *reinterpret_cast<std::uint8_t*>(byte) ^= 0x40; }
  static bool is_element(const Workload& p, const OperandSet& set, CUdeviceptr byte) {
    if (byte < set.d) return false;
    const auto element = static_cast<std::int64_t>(byte - set.d) / size_bytes(p.types.d);
    return element / set.ldd < p.m && element % set.ldd < p.n;
  }
};

TEST_F(CheckKernelsTest, OperandsAreNoBetterAlignedThanTheirClassSays) {
  for (const std::int64_t size : {33, 64}) {
    for (const int align : {2, 4, 8, 16}) {
      const Workload problem{{.m = size, .n = size, .k = size}, {.align_a = align, .align_b = align, .align_d = align}};
      const OperandPool pool(driver_, problem, 1, 1 << 20);
      const OperandSet& set = pool.sets().front();
      for (const auto& [address, ld] : {std::pair(set.a, set.lda), {set.b, set.ldb}, {set.d, set.ldd}}) {
        const auto both = static_cast<std::int64_t>(address) | ld * 2;
        EXPECT_EQ(std::min<std::int64_t>(both & -both, 16), align) << size;
      }
    }
  }
}

TEST_F(CheckKernelsTest, DigestSeesEveryWriteOutsideD) {
  Workload at_odd_address = padded(DType::f16);
  at_odd_address.n = 16;
  at_odd_address.hints.align_d = 2;
  for (const Workload& problem : {padded(DType::f16), padded(DType::f32), at_odd_address}) {
    const DType dtype = problem.types.d;
    const OperandPool pool(driver_, problem, 1, 1 << 20);
    const OperandSet& set = pool.sets().front();
    kernels().fill_check(problem, set, 3, stream());
    const std::uint64_t before = digest(problem, pool);
    EXPECT_EQ(digest(problem, pool), before);
    const CUdeviceptr d_end = set.d + static_cast<CUdeviceptr>(problem.m * set.ldd * size_bytes(dtype));
    int elements = 0;
    for (CUdeviceptr byte = pool.begin(); byte < pool.begin() + pool.bytes();) {
      flip(byte);
      const bool in_d = is_element(problem, set, byte);
      elements += in_d;
      EXPECT_EQ(digest(problem, pool) == before, in_d) << byte - pool.begin() << " of " << pool.bytes();
      flip(byte);
      byte += byte + 64 > set.d && byte < d_end + 64 ? 1 : 61;  // all of D and nearby bytes; else samples
    }
    EXPECT_EQ(elements, problem.m * problem.n * size_bytes(dtype));
  }
}

TEST_F(CheckKernelsTest, ScalesOfBlocksLeaveExactSumsAsTheyAre) {
  for (const char* text : {"64 272 384 nt e4m3", "30 130 520 tn e5m2*e4m3>f16 beta=1", "70 150 300 nt e4m3 batch=3",
                           "40 150 300 nn e4m3 batch=2,pointers", "96 136 200 nt e4m3 groups=4",
                           "48 136 200 nt e4m3 groups=4,masked", "40 72 900 tn e4m3 groups=4,k"}) {
    const Workload problem = parse_workload(std::string(text) + " epilogue=scale_a:block_1x128+scale_b:block_128x128");
    const OperandPool pool(driver_, problem, 1, 1 << 20);
    const OperandSet& set = pool.sets().front();
    const Plan plan = context(Policy::estimate).plan(problem);
    const float beta = problem.hints.beta_is_zero ? 0 : 1;
    const auto launch = [&](const OperandSet& on, CUstream stream) {
      plan.launch(stream, OperandPool::operands(on, 1, beta));
    };
    EXPECT_EQ(check_exactly(kernels(), problem, pool, 3, stream(), launch), "") << text;
    // A kernel that takes the scales of the next block of k is wrong.
    OperandSet late = set;
    late.epilogue.scale_b += sizeof(float);
    const auto launch_late = [&](const OperandSet&, CUstream stream) {
      plan.launch(stream, OperandPool::operands(late, 1, beta));
    };
    EXPECT_THAT(check_exactly(kernels(), problem, pool, 3, stream(), launch_late), testing::StartsWith("wrong: "));
  }
}

TEST_F(CheckKernelsTest, TheSecondLaunchReadsCWhereItWritesD) {
  for (const char* text : {"13 21 35 nn f16 beta=1", "13 21 35 nn f16 batch=3 beta=1",
                           "13 21 35 nn f16 batch=3,pointers beta=1", "24 32 40 nt f16 groups=3,masked beta=1"}) {
    SCOPED_TRACE(text);
    const Workload problem = parse_workload(text);
    const OperandPool pool(driver_, problem, 1, 1 << 20);
    const Plan plan = context(Policy::estimate).plan(problem);
    const auto launch = [&](const OperandSet& on, CUstream stream) {
      plan.launch(stream, OperandPool::operands(on, 1, 1));
    };
    int launches = 0;
    const auto again = [&](const Operands& o, CUstream stream) {
      ++launches;
      EXPECT_EQ(std::tuple(o.c, o.ldc, o.batch_stride_c, o.batch_c),
                std::tuple(o.d, o.ldd, o.batch_stride_d, static_cast<const void*>(o.batch_d)));
      plan.launch(stream, o);
    };
    EXPECT_EQ(check_exactly(kernels(), problem, pool, 3, stream(), launch, again), "");
    EXPECT_EQ(launches, 1);
  }
}

TEST_F(CheckKernelsTest, AKernelChangesNothingButD) {
  const Workload problem = small_case(40, 70, 100).described();
  const OperandPool pool(driver_, problem, 1, 1 << 20);
  const OperandSet& set = pool.sets().front();
  kernels().fill_check(problem, set, 3, stream());
  const std::uint64_t before = digest(problem, pool);
  const Plan plan = context(Policy::estimate).plan(problem);
  plan.launch(stream(), OperandPool::operands(set, 1, 0));
  EXPECT_EQ(kernels().check(problem, set, 3, 1, 0, stream()), "");
  EXPECT_EQ(digest(problem, pool), before);
  // If D starts one row further down, its last row lies in the guard.
  OperandSet below = set;
  below.d += static_cast<CUdeviceptr>(set.ldd * size_bytes(problem.types.d));
  plan.launch(stream(), OperandPool::operands(below, 1, 0));
  EXPECT_NE(digest(problem, pool), before);
}

TEST_F(CheckKernelsTest, GuardsLieAroundEveryMatrix) {
  const Workload problem = padded(DType::f16);
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 20);
  ASSERT_GT(pool.sets().size(), 2u);
  std::vector<std::pair<CUdeviceptr, std::int64_t>> matrices;  // address and size in bytes, including padding
  for (const OperandSet& set : pool.sets()) {
    matrices.emplace_back(set.a, problem.m * set.lda * 2);
    matrices.emplace_back(set.b, problem.k * set.ldb * 2);
    matrices.emplace_back(set.c, problem.m * set.ldc * 2);
    matrices.emplace_back(set.d, problem.m * set.ldd * 2);
  }
  std::sort(matrices.begin(), matrices.end());
  CUdeviceptr end = pool.begin() + OperandPool::kEndGuardBytes - OperandPool::kGuardBytes;
  for (const auto& [begin, bytes] : matrices) {
    EXPECT_GE(begin, end + OperandPool::kGuardBytes);
    EXPECT_EQ(begin % 256, 0u);
    end = begin + static_cast<CUdeviceptr>(bytes);
  }
  EXPECT_GE(pool.begin() + pool.bytes(), end + OperandPool::kEndGuardBytes);
}

}  // namespace
}  // namespace hotgemm::standin
