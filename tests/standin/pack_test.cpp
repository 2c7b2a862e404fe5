// Prepacked operands: what is packed, that calls with it are right and copy nothing, which plans they share, and when
// the kernel that packs is compiled.

#include "standin/runtime_fixture.hpp"

#include "config/prepacked.hpp"
#include "gpu/device_buffer.hpp"
#include "shared/wgmma_config.hpp"

#include <utility>

namespace hotgemm::standin {
namespace {

constexpr WgmmaConfig kAlone{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .blocks_per_sm = 2};
constexpr const char* kRepack = "hotgemm_repack";

GemmCase ragged(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0) {
  GemmCase c = small_case(m, n, k, beta);
  c.set_tight_ld(1);
  c.offset_a = 1;
  c.offset_b = 3;
  return c;
}

Problem prepacked(Problem problem, bool a, bool b) {
  problem.prepacked_a = a;
  problem.prepacked_b = b;
  return problem;
}

/// Memory for prepacked A and B of a problem. It holds NaN, and so does a guard behind each.
class PackedMemory {
 public:
  PackedMemory(const Driver& driver, const Problem& problem, CUstream stream) : driver_(driver), stream_(stream) {
    for (const Operand operand : {Operand::a, Operand::b}) {
      sizes_.push_back(prepacked_size(problem, operand));
      memory_.emplace_back(driver, sizes_.back().bytes + kGuardBytes);
      driver.check(driver.cuMemsetD8Async(memory_.back().get(), 0xff, memory_.back().bytes(), stream), "fill");
    }
  }

  void* at(Operand operand) const { return reinterpret_cast<void*>(memory_[index(operand)].get()); }
  std::int64_t ld(Operand operand) const { return sizes_[index(operand)].ld; }
  /// Packs the operands that `problem` has prepacked, and puts the copies into `operands`.
  void pack(Context& context, const Problem& problem, Operands& operands) const {
    if (problem.prepacked_a) {
      context.pack(stream_, problem, Operand::a, operands.a, operands.lda, at(Operand::a));
      operands.a = at(Operand::a), operands.lda = ld(Operand::a);
    }
    if (problem.prepacked_b) {
      context.pack(stream_, problem, Operand::b, operands.b, operands.ldb, at(Operand::b));
      operands.b = at(Operand::b), operands.ldb = ld(Operand::b);
    }
  }
  void expect_guards() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      std::vector<std::uint8_t> guard(kGuardBytes);
      driver_.check(driver_.cuMemcpyDtoHAsync(guard.data(), memory_[i].get() + sizes_[i].bytes, guard.size(), stream_),
                    "read");
      driver_.check(driver_.cuStreamSynchronize(stream_), "wait");
      EXPECT_THAT(guard, testing::Each(0xff));
    }
  }

 private:
  static constexpr std::size_t kGuardBytes = 256;
  static std::size_t index(Operand operand) { return static_cast<std::size_t>(operand); }

  const Driver& driver_;
  CUstream stream_;
  std::vector<PrepackedSize> sizes_;
  std::vector<DeviceBuffer> memory_;
};

class PackTest : public RuntimeTest {
 protected:
  std::size_t copies() { return standin().launches(kRepack); }
  /// Packs operands of the case and calls gemm twice with the copies.
  void expect_right_packed(Context& context, const GemmCase& c, bool a, bool b) {
    const Problem problem = prepacked(c.problem, a, b);
    const PackedMemory memory(driver_, problem, stream());
    expect_right(c, stream(), [&](Operands operands) {
      memory.pack(context, problem, operands);
      const std::size_t before = copies();
      for (int i = 0; i < (c.in_place ? 1 : 2); ++i) context.gemm(stream(), problem, operands);
      EXPECT_EQ(copies(), before) << "a call copied an operand";
    });
    memory.expect_guards();
  }
  /// Makes the case's class run `config`, by a record.
  void add_record(Context& context, const Workload& problem, const KernelConfig& config) {
    Engine& engine = impl_of(context).engine();
    engine.database.add({.problem = problem,
                         .config = config,
                         .launch = with_repacks({2, false}, config, problem),
                         .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = impl_of(context).current().environment(),
                         .template_digest = engine.template_digest(config)});
  }
};

TEST_F(PackTest, IsRightInEveryLayout) {
  int layout = 0;
  for (const Op op_a : {Op::n, Op::t}) {
    for (const Op op_b : {Op::n, Op::t}) {
      GemmCase c = ragged(70, 131, 67, layout++ % 2 == 0 ? 0.0f : 1.0f);
      c.problem.op_a = op_a;
      c.problem.op_b = op_b;
      c.problem.types = op_a == op_b ? kF16 : kBf16;
      c.set_tight_ld(1);
      c.lda += 2;
      context(Policy::estimate);
      add_record(context(), Workload(prepacked(c.problem, true, true), c.described().hints), kAlone);
      expect_right_packed(context(), c, true, true);
      EXPECT_EQ(copies(), 2u * static_cast<unsigned>(layout)) << "each operand once";
    }
  }
  EXPECT_EQ(standin().calls("cuLaunchKernelEx"), 0u) << "nothing to overlap with";
}

TEST_F(PackTest, TheOtherOperandIsRepacked) {
  const GemmCase c = ragged(40, 41, 43);
  const Workload b(prepacked(c.problem, false, true), c.described().hints);
  add_record(context(Policy::estimate), b, kAlone);
  const Plan plan = context().plan(b);
  EXPECT_EQ(plan.config(), to_string(KernelConfig(kAlone)));
  EXPECT_EQ(plan.workspace_bytes(), repacked_bytes({.shape = {48, 43}, .element_bytes = 2}))
      << "A of the largest m of the class, and no B";
  const PackedMemory memory(driver_, b, stream());
  expect_right(c, stream(), [&](Operands operands) {
    memory.pack(context(), b, operands);
    EXPECT_EQ(copies(), 1u);
    plan.launch(stream(), operands);
  });
  EXPECT_EQ(copies(), 2u);
}

TEST_F(PackTest, SharesThePlanOfTheAlignedClass) {
  GemmCase aligned = small_case(40, 41, 43);
  add_record(context(Policy::estimate), aligned.described(), kAlone);
  expect_right(context(), aligned, stream());
  EXPECT_EQ(context().stats().plans, 1u);
  GemmCase c = ragged(40, 41, 43);
  c.ldc = c.ldd = aligned.ldd;
  expect_right_packed(context(), c, true, true);
  const Plan plan = context().plan(Workload(prepacked(c.problem, true, true), c.described().hints));
  EXPECT_EQ(context().stats().plans, 1u);
  EXPECT_EQ(plan.config(), to_string(KernelConfig(kAlone)));
  EXPECT_EQ(plan.workspace_bytes(), 0u);
  EXPECT_THAT(plan.explain(), testing::HasSubstr("prepacked=ab align=16"));
}

TEST_F(PackTest, OneFormOfWeightsServesEveryM) {
  const GemmCase one = ragged(1, 41, 43);
  const PackedMemory memory(driver_, one.problem, stream());
  context(Policy::estimate);
  for (const std::int64_t m : {5, 40}) {
    const GemmCase c = ragged(m, 41, 43);
    expect_right(c, stream(), [&](Operands operands) {
      memory.pack(context(), prepacked(one.problem, false, true), operands);
      context().gemm(stream(), prepacked(c.problem, false, true), operands);
    });
  }
  memory.expect_guards();
}

TEST_F(PackTest, APlanRefusesTheOriginal) {
  const GemmCase c = ragged(40, 41, 43);
  const Problem problem = prepacked(c.problem, false, true);
  const Plan plan = context(Policy::estimate).plan(Workload(problem));
  const CaseRun run(driver_, c, stream());
  const std::size_t before = standin().launches();
  Operands operands = run.operands();
  expect_thrown(ErrorCode::invalid_argument,
                {"ldb is 41; prepacked rows of 41 elements are 64 apart: see prepacked_size"},
                [&] { plan.launch(stream(), operands); });
  operands.ldb = 64;
  expect_thrown(ErrorCode::invalid_argument, {"b is prepacked and not at a multiple of 16 bytes"},
                [&] { plan.launch(stream(), operands); });
  EXPECT_EQ(standin().launches(), before);
}

TEST_F(PackTest, WhatIsEmptyIsNotRead) {
  context(Policy::cached_only);
  for (const Problem& empty : {Problem{.m = 4, .n = 5, .k = 0}, Problem{.m = 0, .n = 0, .k = 5}}) {
    EXPECT_NO_THROW(context().pack(stream(), empty, Operand::a, nullptr, 8, nullptr));
    EXPECT_NO_THROW(context().pack(stream(), empty, Operand::b, nullptr, 8, nullptr));
  }
  EXPECT_EQ(standin().launches(), 0u);
  EXPECT_EQ(context().stats().compiled, 0u);
  GemmCase c = ragged(40, 41, 43, 1);
  c.alpha = 0;
  forget_context();
  Problem problem = prepacked(c.problem, true, true);
  expect_right(c, stream(), [&](Operands operands) {
    operands.a = operands.b = nullptr;
    operands.lda = operands.ldb = 64;
    context(Policy::estimate).gemm(stream(), problem, operands);
  });
}

TEST_F(PackTest, IsCaptured) {
  const GemmCase c = ragged(40, 41, 43);
  const Problem problem = prepacked(c.problem, false, true);
  const PackedMemory memory(driver_, problem, stream());
  CaseRun run(driver_, c, stream());
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  context(Policy::estimate);
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  Operands operands = run.operands();
  memory.pack(context(), problem, operands);
  context().gemm(stream(), problem, operands);
  ASSERT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(copies(), 0u);
  for (const unsigned seed : {1u, 2u}) {
    run.fill(CaseRun::Data::integers, seed);
    run.run([&](const Operands&) { driver_.check(driver_.cuGraphLaunch(exec, stream()), "replay"); });
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(copies(), seed);
  }
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

TEST_F(PackTest, StaysWithinTheSmLimit) {
  GemmCase c = ragged(40, 41, 400);
  c.problem.sm_limit = 2;
  standin().set_sm_limit(2);
  const PackedMemory memory(driver_, c.problem, stream());
  const CaseRun run(driver_, c, stream());
  const Operands operands = run.operands();
  context(Policy::estimate).pack(stream(), c.problem, Operand::b, operands.b, operands.ldb, memory.at(Operand::b));
  EXPECT_EQ(copies(), 1u);
}

TEST_F(PackTest, AFailedLaunchNamesTheOperand) {
  const GemmCase c = ragged(40, 41, 43);
  const PackedMemory memory(driver_, c.problem, stream());
  const CaseRun run(driver_, c, stream());
  const Operands o = run.operands();
  context(Policy::estimate).pack(stream(), c.problem, Operand::b, o.b, o.ldb, memory.at(Operand::b));
  standin().fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  expect_thrown(ErrorCode::driver_error, {"pack B of 40 41 43 nn f16"},
                [&] { context().pack(stream(), c.problem, Operand::b, o.b, o.ldb, memory.at(Operand::b)); });
}

TEST_F(PackTest, PrewarmingPreparesTheKernelThatPacks) {
  ::unsetenv("HOTGEMM_CACHE_PATH");
  const GemmCase c = ragged(40, 41, 43);
  const Problem problem = prepacked(c.problem, false, true);
  const auto pack = [&] {
    const PackedMemory memory(driver_, problem, stream());
    const CaseRun run(driver_, c, stream());
    Operands operands = run.operands();
    memory.pack(context(Policy::cached_only), problem, operands);
  };
  expect_thrown(ErrorCode::not_prepared, {"packs operands", "hotgemm prewarm"}, pack);
  EXPECT_EQ(copies(), 0u);
  GemmCase others = c;  // all other rows are aligned, so that no launch repacks
  others.set_tight_ld(8);
  others.ldb = c.ldb;
  others.offset_a = 0;
  const Workload planned(problem, others.described().hints);
  const PrewarmReport report = context().prewarm(std::vector{planned}, {.archs = {"sm_90a"}, .jobs = 2});
  EXPECT_EQ(report.failed, 0u);
  EXPECT_GE(report.compiled, 2u);
  forget_context();
  expect_right_packed(context(Policy::cached_only), others, false, true);
  EXPECT_EQ(context().stats().compiled, 0u);
  EXPECT_EQ(copies(), 1u);
}

/// A kernel that waits for the host may be running by then, and loading waits for it.
TEST_F(PackTest, LoadsNothingAfterAPlan) {
  const GemmCase c = ragged(24, 40, 72);
  const Problem problem = prepacked(c.problem, true, true);
  context(Policy::estimate).plan(Workload(problem));
  const auto loads = standin().calls("cuModuleLoadData");
  CaseRun run(driver_, c, stream());
  run.fill(CaseRun::Data::integers, 5);
  const PackedMemory memory(driver_, problem, stream());
  run.run([&](Operands operands) {
    memory.pack(context(), problem, operands);
    context().gemm(stream(), problem, operands);
  });
  EXPECT_EQ(run.inexact(), "");
  EXPECT_EQ(standin().calls("cuModuleLoadData"), loads);
}

TEST_F(PackTest, TuningRecordsTheAlignedClass) {
  const Workload packed = parse_workload("40 41 43 nn f16 prepacked=ab"),
                 aligned = parse_workload("40 41 43 nn f16 align=16,16,2");
  const auto tuned = context().tune(std::vector{packed, aligned}, quick_tuning(4));
  ASSERT_EQ(tuned.size(), 2u);
  EXPECT_EQ(tuned[0].failure, "");
  EXPECT_FALSE(tuned[0].was_recorded);
  EXPECT_EQ(tuned[0].problem, packed);
  EXPECT_TRUE(tuned[1].was_recorded);
  EXPECT_EQ(tuned[1].config, tuned[0].config);
  EXPECT_EQ(records().size(), 1u);
  forget_context();
  GemmCase c = ragged(40, 41, 43);
  expect_right_packed(context(Policy::estimate), c, true, true);
  EXPECT_EQ(context().stats().recorded, 1u) << "the record is read from the file";
}

}  // namespace
}  // namespace hotgemm::standin
