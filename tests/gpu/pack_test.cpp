// Prepacked operands on exact data with guards around everything: the copy itself, element by element; products of all
// layouts, compared bit by bit with those of the originals; graphs; matrices beyond 2^31 elements.

#include "gpu/gpu_fixture.hpp"
#include "gpu/misaligned_case.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/operand_pool.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::size_t kGuardBytes = 4096;

std::string name_of(Operand operand) { return operand == Operand::a ? "A" : "B"; }

class PackOnGpu : public GpuTest {
 protected:
  /// Memory for a prepacked operand, with a guard behind it. All of it is NaN.
  struct Memory {
    Memory(const Driver& driver, const Problem& problem, Operand operand, CUstream stream)
        : size(prepacked_size(problem, operand)), buffer(driver, size.bytes + kGuardBytes) {
      driver.check(driver.cuMemsetD8Async(buffer.get(), 0xff, buffer.bytes(), stream), "fill with NaN");
    }
    void* address() const { return reinterpret_cast<void*>(buffer.get()); }
    PrepackedSize size;
    DeviceBuffer buffer;
  };

  void pack(const Problem& problem, Operand operand, Operands& operands, const Memory& memory) {
    const bool is_a = operand == Operand::a;
    gpu().context().pack(stream(), problem, operand, is_a ? operands.a : operands.b, is_a ? operands.lda : operands.ldb,
                         memory.address());
    (is_a ? operands.a : operands.b) = memory.address();
    (is_a ? operands.lda : operands.ldb) = memory.size.ld;
  }

  /// Every element of the copy is that of the matrix, the padding of rows is zero, and nothing behind it is written.
  void expect_copy(const GemmCase& c, Operand operand, const GuardedMatrix& matrix, const Memory& memory) {
    std::vector<std::uint8_t> bytes(memory.buffer.bytes());
    driver().check(driver().cuMemcpyDtoHAsync(bytes.data(), memory.buffer.get(), bytes.size(), stream()), "read");
    driver().check(driver().cuStreamSynchronize(stream()), "wait");
    const std::int64_t rows = matrix.rows(), cols = matrix.cols(), ld = memory.size.ld;
    const auto at = [&](std::int64_t row, std::int64_t col) {
      const std::uint8_t* element = bytes.data() + static_cast<std::size_t>(row * ld + col) * 2;
      return standin::load_element(reinterpret_cast<std::uint64_t>(element), c.problem.types.a);
    };
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < ld; ++col) {
        const float right =
            col < cols ? matrix.get(static_cast<std::size_t>(row), static_cast<std::size_t>(col)) : 0.0f;
        wrong += at(row, col) == right ? 0 : 1;
      }
    }
    EXPECT_EQ(wrong, 0) << name_of(operand) << " of " << c.text();
    for (std::size_t i = static_cast<std::size_t>(rows * ld) * 2; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], 0xff) << name_of(operand) << " of " << c.text() << ": byte " << i;
    }
  }

  /// The product with the operands packed that are asked for: exact, and nothing written elsewhere.
  void expect_right(const GemmCase& c, bool a, bool b) {
    Problem problem = c.problem;
    problem.prepacked_a = a;
    problem.prepacked_b = b;
    const Memory memory_a(driver(), problem, Operand::a, stream()), memory_b(driver(), problem, Operand::b, stream());
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run([&](Operands operands) {
      if (a) pack(problem, Operand::a, operands, memory_a);
      if (b) pack(problem, Operand::b, operands, memory_b);
      for (int i = 0; i < (c.in_place ? 1 : 2); ++i) gpu().context().gemm(stream(), problem, operands);
    });
    EXPECT_EQ(run.inexact(), "") << c.text() << (a ? " packed A" : "") << (b ? " packed B" : "");
    EXPECT_EQ(run.stray_write(), "") << c.text();
    if (a) expect_copy(c, Operand::a, run.a(), memory_a);
    if (b) expect_copy(c, Operand::b, run.b(), memory_b);
  }
};

TEST_F(PackOnGpu, CopiesAndProductsAreExactForEveryMisalignment) {
  const int step = small_run() ? 3 : 1;
  for (int offset = 0; offset < 8; offset += step) {
    for (const std::int64_t k : {13, 64, 193}) {
      for (int layout = 0; layout < 4; ++layout) {
        const GemmCase c = misaligned_case(k, layout, offset);
        expect_right(c, offset % 2 == 0, true);
      }
    }
  }
}

TEST_F(PackOnGpu, IsExactForSquaresOfOddSize) {
  for (int layout = 0; layout < 4; ++layout) {
    GemmCase c;
    c.problem = {.m = 255, .n = 509, .k = 511};
    c.problem.op_a = layout / 2 == 0 ? Op::n : Op::t;
    c.problem.op_b = layout % 2 == 0 ? Op::n : Op::t;
    c.problem.types = layout % 2 == 0 ? kF16 : kBf16;
    c.set_tight_ld(1);
    c.beta = layout < 2 ? 0.0f : 1.0f;
    c.in_place = layout == 3;
    expect_right(c, false, true);
    expect_right(c, true, false);
    expect_right(c, true, true);
  }
}

TEST_F(PackOnGpu, OneRowAndOneColumn) {
  for (const auto& [m, n, k] :
       {std::tuple(1, 1, 1), std::tuple(1, 77, 501), std::tuple(77, 1, 501), std::tuple(3, 5, 1)}) {
    GemmCase c;
    c.problem = {.m = m, .n = n, .k = k, .op_b = Op::t};
    c.set_tight_ld(1);
    c.offset_b = 1;
    expect_right(c, true, true);
  }
}

TEST_F(PackOnGpu, AGraphPacksAgain) {
  const GemmCase c = misaligned_case(193, 1, 3);
  Problem problem = c.problem;
  problem.prepacked_b = true;
  const Memory memory(driver(), problem, Operand::b, stream());
  CaseRun run(driver(), c, stream());
  const auto enqueue = [&](Operands operands) {
    pack(problem, Operand::b, operands, memory);
    gpu().context().gemm(stream(), problem, operands);
  };
  run.fill(CaseRun::Data::integers, 1);
  run.run(enqueue);
  EXPECT_EQ(run.inexact(), "");
  ASSERT_EQ(driver().cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  enqueue(run.operands());
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver().cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  for (const unsigned seed : {2u, 3u}) {
    run.fill(CaseRun::Data::integers, seed);
    run.run([&](const Operands&) { driver().check(driver().cuGraphLaunch(exec, stream()), "replay"); });
    EXPECT_EQ(run.inexact(), "") << seed;
    EXPECT_EQ(run.stray_write(), "");
  }
  EXPECT_EQ(driver().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(PackOnGpu, BeyondTwoToTheThirtyOneElements) {
  const Problem problem{.m = 16, .n = 70'001, .k = 32'771, .op_b = Op::t, .prepacked_b = true};
  const auto ragged_bytes = [](std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(rows * cols) * 2;
  };
  const PrepackedSize size = prepacked_size(problem, Operand::b);
  ASSERT_GT(size.bytes / 2, std::size_t{1} << 31);
  const std::size_t needed = 2 * size.bytes + (std::size_t{256} << 20);
  if (gpu().free_bytes() < needed) GTEST_SKIP() << "needs " << (needed >> 20) << " MiB of device memory";
  const DeviceBuffer a(driver(), ragged_bytes(problem.m, problem.k)), b(driver(), ragged_bytes(problem.n, problem.k)),
      d(driver(), ragged_bytes(problem.m, problem.n));
  const OperandSet set{.a = a.get(),
                       .b = b.get(),
                       .c = 0,
                       .d = d.get(),
                       .lda = problem.k,
                       .ldb = problem.k,
                       .ldc = problem.n,
                       .ldd = problem.n};
  const Workload workload(problem);
  const CheckKernels& checks = gpu().state().check_kernels();
  checks.fill_check(workload, set, 1, stream());
  Operands operands = OperandPool::operands(set, 1, 0);
  const Memory memory(driver(), problem, Operand::b, stream());
  pack(problem, Operand::b, operands, memory);
  gpu().context().gemm(stream(), problem, operands);
  EXPECT_EQ(checks.check(workload, set, 1, 1, 0, stream()), "");
}

}  // namespace
}  // namespace hotgemm
