// Matrices with more than 2^31 elements, and offsets beyond 2^31.

#include "gpu/gpu_fixture.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"
#include "plan/candidates.hpp"

namespace hotgemm {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 31;

class Large : public GpuTest {
 protected:
  static std::int64_t extent(std::int64_t rows, std::int64_t cols, std::int64_t ld) { return (rows - 1) * ld + cols; }

  /// Runs the kernel that an estimating context picks, and a CUDA-core kernel, on check data. Every element is checked.
  void check(const GemmCase& c) {
    SCOPED_TRACE(c.text());
    const Workload problem = c.described();
    const std::int64_t elements[] = {extent(c.rows_a(), c.cols_a(), c.lda), extent(c.rows_b(), c.cols_b(), c.ldb),
                                     c.beta != 0 ? extent(problem.m, problem.n, c.ldc) : 0,
                                     extent(problem.m, problem.n, c.ldd)};
    EXPECT_GT(*std::max_element(std::begin(elements), std::end(elements)) * size_bytes(problem.types.d), 2 * kHuge);
    std::size_t needed = std::size_t{256} << 20;
    for (const std::int64_t count : elements) needed += static_cast<std::size_t>(count * size_bytes(problem.types.d));
    if (gpu().free_bytes() < needed) GTEST_SKIP() << "needs " << (needed >> 20) << " MiB of device memory";
    std::vector<DeviceBuffer> buffers;
    for (const std::int64_t count : elements) {
      buffers.emplace_back(driver(), static_cast<std::size_t>(count * size_bytes(problem.types.d)));
    }
    const OperandSet set{.a = buffers[0].get(),
                         .b = buffers[1].get(),
                         .c = buffers[2].get(),
                         .d = buffers[3].get(),
                         .lda = c.lda,
                         .ldb = c.ldb,
                         .ldc = c.ldc,
                         .ldd = c.ldd};
    const Operands operands = OperandPool::operands(set, c.alpha, c.beta);

    run_and_check(
        c, problem, set, [&] { gpu().context().gemm(stream(), problem, operands); }, "the planned kernel");
    const KernelConfig config = reference_config();
    const Gpu::Kernel kernel = gpu().kernel(config, traits_of(problem));
    run_and_check(
        c, problem, set, [&] { launcher(kernel, LaunchConfig{}, problem)(operands); }, to_string(config));
  }

 private:
  void run_and_check(const GemmCase& c, const Workload& problem, const OperandSet& set,
                     const std::function<void()>& launch, const std::string& name) {
    const CheckKernels& kernels = gpu().state().check_kernels();
    kernels.fill_check(problem, set, 1, stream());
    launch();
    EXPECT_EQ(kernels.check(problem, set, 1, static_cast<int>(c.alpha), static_cast<int>(c.beta), stream()), "")
        << name;
  }
};

GemmCase large_case(std::int64_t m, std::int64_t n, std::int64_t k, Op op_a, Op op_b, DType dtype = DType::f16) {
  GemmCase c;
  c.problem = {.m = m, .n = n, .k = k, .op_a = op_a, .op_b = op_b, .types = uniform_types(dtype)};
  c.set_tight_ld(8);
  return c;
}

TEST_F(Large, A) { check(large_case(65'601, 24, 32'808, Op::n, Op::n)); }
TEST_F(Large, ATransposed) { check(large_case(65'601, 24, 32'808, Op::t, Op::n)); }
TEST_F(Large, B) { check(large_case(24, 65'601, 32'808, Op::n, Op::n)); }
TEST_F(Large, BTransposed) { check(large_case(24, 65'601, 32'808, Op::n, Op::t)); }
TEST_F(Large, D) { check(large_case(65'601, 32'808, 40, Op::n, Op::t)); }

TEST_F(Large, C) {
  GemmCase c = large_case(65'601, 32'808, 40, Op::n, Op::n);
  c.beta = 1;
  check(c);
}

TEST_F(Large, BytesButNotElements) { check(large_case(36'001, 24, 32'808, Op::n, Op::n, DType::f32)); }

/// m * ld is beyond 2^31, but the number of elements is not.
TEST_F(Large, LeadingDimensions) {
  constexpr std::int64_t kLd = kHuge / 128 + 8;
  for (std::int64_t GemmCase::*const ld : {&GemmCase::lda, &GemmCase::ldb, &GemmCase::ldd}) {
    GemmCase c = large_case(130, 136, 144, Op::n, Op::t);
    c.*ld = kLd;
    check(c);
    c.*ld = kLd + 1;  // no wide accesses are possible
    check(c);
  }
}

}  // namespace
}  // namespace hotgemm
