// Functions of users on a GPU: anchors of every family, and the calls of a program.

#include "gpu/gpu_fixture.hpp"

#include "emulate/epilogue_reference.hpp"
#include "gpu/device_buffer.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kSources[] = {"examples/softcap.txt", "src/emulate/functions/indices.txt",
                                    "src/emulate/functions/place.txt"};

class FunctionOnGpu : public GpuTest {
 protected:
  static EpilogueFunction add(const std::string& path) {
    std::ifstream file(std::string(HOTGEMM_SOURCE_DIR "/") + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return gpu().context().add_function(text, path);
  }

  static GemmCase case_of(const Workload& problem, std::size_t turn) {
    GemmCase c{.problem = problem, .beta = problem.hints.beta_is_zero ? 0.0f : -1.0f};
    if (problem.types.a == DType::s8) c.alpha = 0x1p-8f;
    c.set_tight_ld(problem.hints.align_d >= 16 ? 16 : problem.hints.align_d / size_bytes(problem.types.d));
    c.residual_in_place = problem.epilogue.residual && c.beta == 0 && turn % 2 == 0;
    return c;
  }

  void expect_right(const GemmCase& c, const CaseRun::Launch& launch, double& worst) {
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run(launch);
    if (emulate::is_exact(c.problem.epilogue)) {
      EXPECT_EQ(run.inexact(), "");
    }
    EXPECT_EQ(run.stray_write(), "");
    run.fill(CaseRun::Data::normal, 8);
    run.run(launch);
    EXPECT_LE(run.worst_error(), 1.0);
    worst = std::max(worst, run.worst_error());
  }
};

TEST_F(FunctionOnGpu, AnchorsComputeThem) {
  const std::size_t step = small_run() ? 13 : 3;
  const ArchLimits& arch = arch_limits(gpu().arch());
  std::vector<Gpu::KernelRequest> requests;
  std::vector<GemmCase> cases;
  std::size_t turn = 0;
  for (const char* types : {"f16", "bf16", "f32", "f16*f16>f32", "e4m3", "s8*s8>bf16"}) {
    for (const char* rest : {" align=16", " align=16 beta=1", " align=4"}) {
      const std::string bare = std::string("203 312 272 nt ") + types + rest;
      for (const KernelConfig& config : anchors(parse_workload(bare), arch)) {
        if (++turn % step != 0) continue;
        Workload problem = parse_workload(bare);
        if (turn / step % 4 > 1)
          problem = parse_workload(bare + " epilogue=scale_b:vector+bias+aux+residual+amax+scale_d");
        problem.epilogue.function = add(kSources[turn / step % std::size(kSources)]);
        const GemmCase c = case_of(problem, turn / step);
        if (!is_legal(config, traits_of(c.described()), arch)) continue;
        requests.push_back({config, traits_of(c.described())});
        cases.push_back(c);
      }
    }
  }
  ASSERT_GE(cases.size(), small_run() ? 8U : 40U);
  const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
  double worst = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(to_string(requests[i].config) + " " + cases[i].text());
    const LaunchConfig launch = default_launch(requests[i].config, cases[i].described(), gpu().state().info());
    expect_right(cases[i], launcher(kernels[i], launch, cases[i].problem), worst);
  }
  std::printf("%zu kernels, worst error %.3f of its gate\n", cases.size(), worst);
}

TEST_F(FunctionOnGpu, CallsPickAndRunThem) {
  double worst = 0;
  std::size_t turn = 0;
  for (const char* bare : {"1 4096 512 nt bf16", "17 264 4096 nt f16", "300 520 256 nn bf16 beta=1", "130 77 99 tn f16",
                           "64 64 64 tt f32", "256 512 512 nt e4m3", "70 50 0 nt f16"}) {
    for (const char* source : kSources) {
      const std::size_t now = turn++;
      if (small_run() && now % 4 != 0) continue;
      Workload problem = parse_workload(bare);
      problem.epilogue.bias = now % 3 == 0 ? Bias::per_column : Bias::none;
      problem.epilogue.function = add(source);
      const GemmCase c = case_of(problem, now);
      SCOPED_TRACE(c.text());
      expect_right(
          c, [&](const Operands& o) { gpu().context().gemm(stream(), c.problem, o); }, worst);
    }
  }
  std::printf("worst error %.3f of its gate\n", worst);
}

TEST_F(FunctionOnGpu, AProductOfABatchHasItsNumber) {
  constexpr std::size_t kBatch = 5, kRows = 24, kCols = 40;
  for (const char* text : {"24 40 64 nt f16*f16>f32 batch=5", "24 40 64 nn f32 batch=5"}) {
    Problem problem = parse_problem(text);
    problem.epilogue.function = gpu().context().add_function("value + batch * 10000 + row * 100 + column");
    // Elements of zero bits are zeros, so only the indices are left.
    DeviceBuffer operands(driver(), 1 << 20), d(driver(), kBatch * kRows * kCols * sizeof(float));
    driver().check(driver().cuMemsetD32Async(operands.get(), 0, (1 << 20) / 4, stream()), "clear the operands");
    gpu().context().gemm(stream(), problem,
                         {.a = reinterpret_cast<const void*>(operands.get()),
                          .b = reinterpret_cast<const void*>(operands.get()),
                          .d = reinterpret_cast<void*>(d.get()),
                          .lda = 64,
                          .ldb = 64,
                          .ldd = kCols,
                          .batch_stride_d = kRows * kCols});
    std::vector<float> found(kBatch * kRows * kCols);
    driver().check(driver().cuStreamSynchronize(stream()), "compute");
    driver().check(driver().cuMemcpyDtoH(found.data(), d.get(), found.size() * sizeof(float)), "fetch D");
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t product = i / (kRows * kCols), row = i / kCols % kRows, column = i % kCols;
      ASSERT_EQ(found[i], static_cast<float>(product * 10000 + row * 100 + column)) << text << ", element " << i;
    }
  }
}

TEST_F(FunctionOnGpu, AnErrorIsTheUsersLine) {
  Workload problem = parse_workload("256 256 256 nt bf16");
  problem.epilogue.function = gpu().context().add_function("column scale\n\nvalue * scales\n", "my_function.txt");
  try {
    gpu().context().plan(problem);
    ADD_FAILURE() << "it compiles";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile_failed);
    EXPECT_THAT(error.what(), testing::HasSubstr("my_function.txt(3): error: identifier \"scales\" is undefined"));
  }
}

/// Soft-capping with a scale for each column, side by side with the bare product by the same config.
TEST_F(FunctionOnGpu, CostsLittleOnTopOfTheProduct) {
  if (small_run()) GTEST_SKIP() << "a measurement";
  const Workload bare = parse_workload("8192 4096 4096 nt bf16");
  Workload fused = bare;
  fused.epilogue.function = add(kSources[0]);
  DeviceBuffer memory(driver(), std::size_t{3} << 26);
  const auto at = [&](int part) {
    return reinterpret_cast<void*>(memory.get() + (static_cast<CUdeviceptr>(part) << 26));
  };
  driver().check(driver().cuMemsetD32Async(memory.get(), 0x3f803f80, (std::size_t{3} << 26) / 4, stream()), "fill");
  Operands operands{.a = at(0), .b = at(1), .d = at(2), .lda = 4096, .ldb = 4096, .ldd = 4096};
  const Plan plain = gpu().context().plan(bare), capped = gpu().context().plan(fused);
  Operands with = operands;
  with.function_operands[0] = with.function_operands[1] = static_cast<const float*>(at(1));
  std::vector<double> ratios;
  CUevent begin = nullptr, end = nullptr;
  driver().check(driver().cuEventCreate(&begin, 0), "create an event");
  driver().check(driver().cuEventCreate(&end, 0), "create an event");
  const auto ms = [&](const Plan& plan, const Operands& o) {
    driver().check(driver().cuEventRecord(begin, stream()), "record");
    for (int i = 0; i < 10; ++i) plan.launch(stream(), o);
    driver().check(driver().cuEventRecord(end, stream()), "record");
    driver().check(driver().cuStreamSynchronize(stream()), "measure");
    float time = 0;
    driver().check(driver().cuEventElapsedTime(&time, begin, end), "measure");
    return static_cast<double>(time);
  };
  for (int round = 0; round < 25; ++round) {
    const double without = ms(plain, operands), time = ms(capped, with);
    if (round >= 4) ratios.push_back(time / without);
  }
  driver().check(driver().cuEventDestroy(begin), "destroy an event");
  driver().check(driver().cuEventDestroy(end), "destroy an event");
  std::ranges::sort(ratios);
  std::printf("%s: %.4f of the time of %s for the bare product\n", capped.config().c_str(), ratios[ratios.size() / 2],
              plain.config().c_str());
  EXPECT_LT(ratios[ratios.size() / 2], 1.2);
}

}  // namespace
}  // namespace hotgemm
