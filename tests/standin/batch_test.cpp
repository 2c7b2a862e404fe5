// Batches, from the call to the launch.

#include "context_impl.hpp"
#include "gpu/batch_run.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/class_key.hpp"
#include "config/repack.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/stream.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace hotgemm::standin {
namespace {

class BatchTest : public RuntimeTest {
 protected:
  void expect_equal(const BatchCase& c) {
    SCOPED_TRACE(c.text());
    EXPECT_EQ(BatchRun(driver_, c, stream()).difference(context(Policy::estimate)), "");
  }
  static BatchCase case_of(const char* problem, std::int64_t multiple = 8) {
    return {.problem = parse_problem(problem), .multiple = multiple};
  }
};

TEST_F(BatchTest, ACallEqualsACallForEachProduct) {
  for (const char* problem :
       {"13 21 35 nn f16 batch=3", "70 72 64 nt bf16 batch=5", "40 24 48 tn f32 batch=2", "64 64 64 tt f16 batch=4",
        "33 48 64 nt s8 batch=3", "32 48 64 nt e4m3 batch=2", "40 40 40 nt tf32 batch=3", "16 64 4096 nt f16 batch=2",
        "24 40 32 nt f16 batch=3 epilogue=bias+relu+residual", "9 8 0 nt f16 batch=3", "1 1 1 nn f16 batch=9",
        "70 72 64 nt bf16 batch=5,pointers", "13 21 35 nn f16 batch=3,pointers", "33 48 64 nt s8 batch=3,pointers",
        "16 64 4096 nt f16 batch=2,pointers", "24 40 32 nt f16 batch=3,pointers epilogue=bias+relu+residual",
        "9 8 0 nt f16 batch=3,pointers", "40 24 48 tn f32 batch=1,pointers"}) {
    for (const std::int64_t multiple : {std::int64_t{1}, std::int64_t{16}}) {
      BatchCase c = case_of(problem, multiple);
      c.alpha = 2;
      expect_equal(c);
      c.beta = -1;
      expect_equal(c);
      c.in_place = true;
      expect_equal(c);
    }
  }
}

TEST_F(BatchTest, MatricesLieSideBySideOrAreShared) {
  for (const char* problem : {"50 64 64 nt f16 batch=3", "33 35 37 nn bf16 batch=4"}) {
    for (const bool beside : {false, true}) {
      BatchCase c = case_of(problem);
      c.beside = beside;
      expect_equal(c);
      c.shares_a = true;
      expect_equal(c);
      c.shares_a = false;
      c.shares_b = true;
      expect_equal(c);
    }
  }
}

TEST_F(BatchTest, AlignedBatchesUseTensorMapsAndOthersDoNot) {
  const auto config_of = [&](const char* workload) {
    return context(Policy::estimate).plan(parse_workload(workload)).config();
  };
  EXPECT_THAT(config_of("256 256 256 nt f16 batch=16"), testing::StartsWith("wgmma_"));
  EXPECT_THAT(config_of("16 256 256 nt f16 batch=16 align=2"), testing::HasSubstr("_th")) << "loads by threads";
  EXPECT_THAT(config_of("16 256 8192 nt f16 batch=2"), testing::HasSubstr("_sk1")) << "parts of k";
}

TEST_F(BatchTest, APlanServesTheBatchesOfItsBucketAndBatchesOfNoneDoNothing) {
  Context& context = this->context(Policy::estimate);
  for (const std::int64_t batch : {5, 6, 7, 8}) {
    BatchCase c = case_of("32 32 32 nt f16");
    c.problem.batch = batch;
    EXPECT_EQ(BatchRun(driver_, c, stream()).difference(context), "");
  }
  EXPECT_EQ(context.stats().plans, 2u) << "one for batches, and one for the single calls";
  BatchCase none = case_of("32 32 32 nt f16 batch=2");
  const Operands operands = BatchRun(driver_, none, stream()).operands();
  none.problem.batch = 0;
  const std::size_t launches = standin().launches();
  context.gemm(stream(), none.problem, operands);
  EXPECT_EQ(standin().launches(), launches);
}

TEST_F(BatchTest, AllBatchesOfABucketAreComputedAlike) {
  const auto chosen = [&](const char* workload) {
    const Plan plan = context(Policy::estimate).plan(parse_workload(workload));
    return plan.config() + " " + std::to_string(plan.workspace_bytes());
  };
  for (const char* rest :
       {"16 64 4096 nt f16 batch=", "70 80 512 nt bf16 align=2 batch=", "128 128 64 nn f16 batch="}) {
    const std::string of_five = chosen((rest + std::string("5")).c_str());
    EXPECT_EQ(of_five, chosen((rest + std::string("8")).c_str())) << rest;
  }
}

constexpr const char *kCopying = "wgmma_m64_n64_k64_c1_sn0_pp0_o1_s4_cm1_cn1_b1",
                     *kCopyingS8 = "wgmma_m64_n64_k128_c1_sn0_pp0_o0_s4_cm1_cn1_b1";

TEST_F(BatchTest, OperandsThatTheCopyEngineCannotReadAreCopied) {
  Context& context = this->context(Policy::estimate);
  for (const auto& [problem, config] :
       {std::pair("40 41 43 nt f16 batch=3", kCopying), std::pair("41 72 43 tn bf16 batch=3", kCopying),
        std::pair("40 48 64 nn s8 batch=3", kCopyingS8)}) {
    for (const bool beside : {false, true}) {
      for (const bool shares : {false, true}) {
        BatchCase c = case_of(problem, 1);
        c.beside = beside;
        c.shares_a = shares;
        SCOPED_TRACE(c.text());
        BatchRun run(driver_, c, stream());
        context.pin(describe(c.problem, run.operands()), config);
        const std::size_t copies = standin().launches("hotgemm_repack");
        EXPECT_EQ(run.difference(context), "");
        EXPECT_GT(standin().launches("hotgemm_repack"), copies);
      }
    }
  }
}

TEST_F(BatchTest, NothingElseIsCopiedWhateverIsPinned) {
  Context& context = this->context(Policy::estimate);
  const auto run_pinned = [&](const char* problem, std::int64_t multiple, const char* config) {
    SCOPED_TRACE(problem);
    const BatchCase c = case_of(problem, multiple);
    BatchRun run(driver_, c, stream());
    context.pin(describe(c.problem, run.operands()), config, "r1m_xa");
    EXPECT_EQ(run.difference(context), "");
  };
  run_pinned("64 64 64 nt f16 batch=3", 8, "wgmma_m64_n64_k64_c1_sn0_pp0_o1_s4_cm1_cn1_b1");
  run_pinned("64 64 64 nt f16 batch=3,pointers", 8, "wgmma_m64_n64_k64_c1_sn0_pp0_o1_s4_cm1_cn1_b1");
  run_pinned("40 41 43 nt f16 batch=3,pointers", 1, "wgmma_m64_n64_k64_c1_sn0_pp0_o0_s4_cm1_cn1_b1_th2");
  EXPECT_EQ(standin().launches("hotgemm_repack"), 0u);
}

/// The workspace behind the copies keeps what it had.
TEST_F(BatchTest, AMatrixThatAllProductsShareIsCopiedOnce) {
  Context& context = this->context(Policy::estimate);
  for (const bool shares_a : {true, false}) {
    BatchCase c = case_of("40 41 43 nt f16 batch=3", 1);
    c.shares_a = shares_a, c.shares_b = !shares_a;
    SCOPED_TRACE(c.text());
    BatchRun run(driver_, c, stream());
    const Workload described = describe(c.problem, run.operands());
    context.pin(described, kCopying);
    const Plan plan = context.plan(described);
    std::vector<unsigned char> bytes(plan.workspace_bytes(), 0xa5);
    const DeviceBuffer memory(driver_, bytes.size());
    driver_.check(driver_.cuMemcpyHtoDAsync(memory.get(), bytes.data(), bytes.size(), stream()), "fill");
    Operands operands = run.operands();
    operands.workspace = reinterpret_cast<void*>(memory.get());
    operands.workspace_bytes = bytes.size();
    run.upload(0);
    plan.launch(stream(), operands);
    EXPECT_EQ(run.difference_from(context), "");
    driver_.check(driver_.cuMemcpyDtoHAsync(bytes.data(), memory.get(), bytes.size(), stream()), "read");
    driver_.check(driver_.cuStreamSynchronize(stream()), "wait");
    const OperandCopy of_a{.shape = {40, 43}, .element_bytes = 2, .products = shares_a ? 1 : 3},
        of_b{.shape = {41, 43}, .element_bytes = 2, .products = shares_a ? 3 : 1};
    const std::size_t used = repacked_bytes(of_a) + repacked_bytes(of_b);
    ASSERT_LT(used, bytes.size());
    EXPECT_TRUE(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end(),
                            [](unsigned char byte) { return byte == 0xa5; }));
  }
}

TEST_F(BatchTest, CopiesAreRightInGraphsAndInBatchesBelowTheirBucket) {
  Context& context = this->context(Policy::estimate);
  for (const std::int64_t batch : {std::int64_t{5}, std::int64_t{8}}) {
    BatchCase c = case_of("40 41 43 nt f16", 1);
    c.problem.batch = batch;
    BatchRun run(driver_, c, stream());
    context.pin(describe(c.problem, run.operands()), kCopying);
    EXPECT_EQ(run.difference(context), "");
    const OwnedGraph graph =
        OwnedGraph::capture(driver_, stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
    run.upload(0);
    graph.launch(stream());
    EXPECT_EQ(run.difference_from(context), "");
  }
}

TEST_F(BatchTest, ABatchOfOneMayHaveAnyDistance) {
  Context& context = this->context(Policy::estimate);
  const BatchCase c = case_of("40 41 43 nt f16", 1);
  BatchRun run(driver_, c, stream());
  context.pin(describe(c.problem, run.operands()), kCopying);
  Operands operands = run.operands();
  operands.batch_stride_a = std::numeric_limits<std::int64_t>::max();
  run.upload(0);
  context.gemm(stream(), c.problem, operands);
  EXPECT_EQ(run.difference_from(context), "");
}

/// The record of the same batch with distances copies its operands. Those of a batch by pointers are not copied.
TEST_F(BatchTest, ABatchByPointersDoesNotTakeARecordThatCopies) {
  for (const char* problem : {"40 41 43 nt f16 batch=6 align=2", "40 48 64 nn s8 batch=6"}) {
    SCOPED_TRACE(problem);
    const Workload strided = parse_workload(problem);
    Engine& engine = impl_of(context(Policy::estimate)).engine();
    const KernelConfig config = *parse_config(strided.types.a == DType::s8 ? kCopyingS8 : kCopying);
    const LaunchConfig launch = with_repacks({}, config, strided);
    ASSERT_TRUE(repacks(launch));
    engine.database.add({.problem = strided,
                         .config = config,
                         .launch = launch,
                         .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = impl_of(context()).current().environment(),
                         .template_digest = engine.template_digest(config)});
    EXPECT_EQ(context().plan(strided).config(), to_string(config));
    BatchCase c{.problem = strided, .multiple = 1};
    c.problem.batch_kind = BatchKind::pointers;
    EXPECT_EQ(BatchRun(driver_, c, stream()).difference(context()), "");
    forget_context();
  }
}

TEST_F(BatchTest, BatchesByPointersUseTensorMapsAndLoadsByThreads) {
  const auto config_of = [&](const char* workload) {
    return context(Policy::estimate).plan(parse_workload(workload)).config();
  };
  EXPECT_EQ(config_of("256 256 256 nt f16 batch=16,pointers"), config_of("256 256 256 nt f16 batch=16"));
  EXPECT_THAT(config_of("256 256 256 nt f16 batch=16,pointers align=2"), testing::HasSubstr("_th"));
}

TEST_F(BatchTest, AReplayReadsThePointersThatAreThereThen) {
  Context& context = this->context(Policy::estimate);
  for (const std::int64_t multiple : {std::int64_t{1}, std::int64_t{16}}) {
    const BatchCase c = case_of("70 72 64 nt bf16 batch=5,pointers", multiple);
    BatchRun run(driver_, c, stream());
    run.upload(0);
    context.gemm(stream(), c.problem, run.operands());  // plans
    const OwnedGraph graph =
        OwnedGraph::capture(driver_, stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
    for (const std::int64_t turn : {0, 1, 3}) {
      run.upload(turn);
      graph.launch(stream());
      EXPECT_EQ(run.difference_from(context), "") << turn;
    }
  }
}

TEST_F(BatchTest, AWrongArrayIsNamed) {
  Context& context = this->context(Policy::estimate);
  const BatchCase c = case_of("32 32 32 nt f16 batch=3,pointers");
  BatchRun run(driver_, c, stream());
  const auto expect_refused = [&](const std::vector<std::string>& parts, const std::function<void(Operands&)>& change) {
    Operands operands = run.operands();
    change(operands);
    const std::size_t launches = standin().launches();
    expect_thrown(ErrorCode::invalid_argument, parts, [&] { context.gemm(stream(), c.problem, operands); });
    EXPECT_EQ(standin().launches(), launches);
  };
  expect_refused({"batch_a is null"}, [](Operands& o) { o.batch_a = nullptr; });
  expect_refused({"batch_d is null"}, [](Operands& o) { o.batch_d = nullptr; });
  expect_refused({"batch_c is null"}, [](Operands& o) { o.beta = 1, o.batch_c = nullptr; });
  expect_refused({"b is set", "batch_b"}, [](Operands& o) { o.b = o.batch_b; });
  expect_refused({"batch_b is not at a multiple of 8 bytes"}, [](Operands& o) {
    o.batch_b = reinterpret_cast<const void* const*>(reinterpret_cast<std::uintptr_t>(o.batch_b) + 4);
  });
  expect_refused({"batch_align_a is 1", "at least 2"}, [](Operands& o) { o.batch_align_a = 1; });
  expect_refused({"batch_align_d is 32"}, [](Operands& o) { o.batch_align_d = 32; });
  expect_refused({"batch_align_c is 12"}, [](Operands& o) { o.batch_align_c = 12; });
  expect_refused({"lda is 31"}, [](Operands& o) { o.lda = 31; });
  expect_refused({"batch_c and batch_d are one array"}, [](Operands& o) {
    o.beta = 1, o.ldc = o.ldd + 8;
    o.batch_c = o.batch_d;
  });
  expect_refused({"batch_stride_a is set"}, [](Operands& o) { o.batch_stride_a = 1024; });
}

TEST_F(BatchTest, APromiseIsTheAlignmentClass) {
  const BatchCase c = case_of("32 32 32 nt f16 batch=3,pointers");
  BatchRun run(driver_, c, stream());
  Operands o = run.operands();
  o.batch_align_a = 0, o.batch_align_b = 4, o.batch_align_d = 8;
  const Hints hints = describe(c.problem, o).hints;
  EXPECT_EQ(hints.align_a, 16);
  EXPECT_EQ(hints.align_b, 4);
  EXPECT_EQ(hints.align_d, 8);
  o.lda = 33;
  EXPECT_EQ(describe(c.problem, o).hints.align_a, 2) << "rows are aligned no better";
}

TEST_F(BatchTest, EveryDistanceCountsInTheAlignment) {
  const Problem problem = parse_problem("64 64 64 nt bf16 batch=2 epilogue=aux+residual");
  Operands aligned;
  void* const at = reinterpret_cast<void*>(std::uintptr_t{4096});
  aligned.a = aligned.b = aligned.c = aligned.residual = at;
  aligned.d = aligned.auxiliary = at;
  aligned.lda = aligned.ldb = aligned.ldc = aligned.ldd = aligned.ld_residual = aligned.ld_auxiliary = 64;
  aligned.beta = 1;
  using Case = std::pair<std::int64_t Operands::*, int Hints::*>;
  for (const auto& [distance, hint] :
       {Case(&Operands::batch_stride_a, &Hints::align_a), Case(&Operands::batch_stride_b, &Hints::align_b),
        Case(&Operands::batch_stride_c, &Hints::align_d), Case(&Operands::batch_stride_d, &Hints::align_d),
        Case(&Operands::batch_stride_residual, &Hints::align_d),
        Case(&Operands::batch_stride_auxiliary, &Hints::align_d)}) {
    Operands o = aligned;
    ASSERT_EQ(describe(problem, o).hints.*hint, 16);
    o.*distance = 4098;
    EXPECT_EQ(describe(problem, o).hints.*hint, 4);
  }
}

TEST_F(BatchTest, ABatchByPointersHasTheRecordOfTheOthersUntilItIsTuned) {
  const Workload strided = parse_workload("64 64 64 nt f16 batch=6"),
                 pointers = parse_workload("64 64 64 nt f16 batch=6,pointers");
  Context& context = this->context(Policy::tune);
  EXPECT_EQ(context.tune(std::span(&strided, 1), quick_tuning(4)).at(0).failure, "");
  EXPECT_EQ(context.plan(pointers).origin(), Origin::tuned);
  EXPECT_EQ(context.plan(pointers).config(), context.plan(strided).config());
  const std::vector<TuneResult> own = context.tune(std::span(&pointers, 1), quick_tuning(4));
  EXPECT_EQ(own.at(0).failure, "");
  EXPECT_GT(own.at(0).measured, 1);
}

TEST_F(BatchTest, AWrongDistanceIsNamed) {
  Context& context = this->context(Policy::estimate);
  const BatchCase c = case_of("32 32 32 nt f16 batch=3 epilogue=residual");
  const BatchRun run(driver_, c, stream());
  const auto expect_refused = [&](const std::vector<std::string>& parts, const std::function<void(Operands&)>& change) {
    Operands operands = run.operands();
    change(operands);
    const std::size_t launches = standin().launches();
    expect_thrown(ErrorCode::invalid_argument, parts, [&] { context.gemm(stream(), c.problem, operands); });
    EXPECT_EQ(standin().launches(), launches);
  };
  expect_refused({"batch_stride_a is negative: -8"}, [](Operands& o) { o.batch_stride_a = -8; });
  expect_refused({"batch_stride_b", "beyond the last address"},
                 [](Operands& o) { o.batch_stride_b = std::int64_t{1} << 61; });
  expect_refused({"matrices overlap: batch_stride_d is 0 for a batch of 3"}, [](Operands& o) { o.batch_stride_d = 0; });
  expect_refused({"matrices overlap"}, [](Operands& o) { o.batch_stride_d = 31 * o.ldd + 31; });
  expect_refused({"c and d are the same matrix with different distances"}, [](Operands& o) {
    o.c = o.d;
    o.beta = 1;
    o.batch_stride_c = 0;
  });
  expect_refused({"residual and d are the same matrix"}, [](Operands& o) {
    o.residual = o.d;
    o.ld_residual = o.ldd;
    o.batch_stride_residual = 0;
  });
  expect_refused({"batch_stride_auxiliary is set"}, [](Operands& o) { o.batch_stride_auxiliary = 8; });
}

TEST_F(BatchTest, ABatchIsTunedWithDataOfItsOwnForEachProduct) {
  const Workload problem = parse_workload("64 64 64 nt f16 batch=6");
  Context& context = this->context(Policy::tune);
  const std::vector<TuneResult> results = context.tune(std::span(&problem, 1), quick_tuning(4));
  EXPECT_EQ(results.at(0).failure, "");
  EXPECT_GT(results.at(0).measured, 1);
  EXPECT_EQ(context.plan(problem).origin(), Origin::tuned);
  // One record serves the class.
  EXPECT_EQ(class_key(problem), class_key(parse_workload("64 64 64 nt f16 batch=8")));
  EXPECT_EQ(context.plan(parse_workload("64 64 64 nt f16 batch=8")).origin(), Origin::tuned);
}

}  // namespace
}  // namespace hotgemm::standin
