// Operands of callers with another version of the header, and fields that no kernel uses.

#include "standin/runtime_fixture.hpp"

namespace hotgemm::standin {
namespace {

class OperandsTest : public RuntimeTest {};

TEST_F(OperandsTest, AnUnusedFieldIsRefusedByACallAndByAPlanAndNothingIsEnqueued) {
  const GemmCase c = small_case();
  const Plan plan = context(Policy::estimate).plan(c.described());
  CaseRun run(driver_, c, stream());
  Operands operands = run.operands();
  operands.batch_b = &operands.b;
  const std::size_t launches = standin().launches();
  expect_thrown(ErrorCode::invalid_argument, {"batch_b"}, [&] { context().gemm(stream(), c.problem, operands); });
  expect_thrown(ErrorCode::invalid_argument, {"batch_b"}, [&] { plan.launch(stream(), operands); });
  EXPECT_EQ(standin().launches(), launches);
}

TEST_F(OperandsTest, AnOlderCallerIsServedByACallAndByAPlan) {
  const GemmCase c = small_case();
  const Plan plan = context(Policy::estimate).plan(c.described());
  const auto as_older = [](Operands operands) {
    operands.size = offsetof(Operands, alpha_device);
    operands.batch_stride_a = 1;  // memory after the struct of an older caller
    return operands;
  };
  expect_right(c, stream(), [&](const Operands& o) { context().gemm(stream(), c.problem, as_older(o)); });
  expect_right(c, stream(), [&](const Operands& o) { plan.launch(stream(), as_older(o)); });
}

TEST_F(OperandsTest, AWorkspaceThatTheKernelDoesNotNeedIsLeftAlone) {
  const GemmCase c = small_case();
  const std::size_t memsets = standin().calls("cuMemsetD32Async");
  expect_right(c, stream(), [&](Operands o) {
    o.workspace = o.d;
    o.workspace_bytes = 1;
    context(Policy::estimate).gemm(stream(), c.problem, o);
  });
  EXPECT_EQ(standin().calls("cuMemsetD32Async"), memsets);
  EXPECT_EQ(context().plan(c.described()).workspace_bytes(), 0u);
}

}  // namespace
}  // namespace hotgemm::standin
