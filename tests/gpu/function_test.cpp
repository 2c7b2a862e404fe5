// Functions of users on a GPU: anchors of every family, and the calls of a program.

#include "gpu/fused_on_gpu.hpp"

#include "gpu/device_buffer.hpp"

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

class FunctionOnGpu : public FusedOnGpu {
 protected:
  static EpilogueFunction add(const std::string& path) {
    std::ifstream file(std::string(HOTGEMM_SOURCE_DIR "/") + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return gpu().context().add_function(text, path);
  }
  /// Half of the functions stand in a chain.
  static Workload fused(const Workload& bare, std::size_t turn) {
    Workload problem = bare;
    if (turn % 4 > 1) {
      problem.epilogue = {.scale_b = Scaling::vector,
                          .bias = Bias::per_column,
                          .aux = true,
                          .residual = true,
                          .amax = true,
                          .scale_d = true};
    }
    problem.epilogue.function = add(kSources[turn % std::size(kSources)]);
    return problem;
  }
  /// D of a product of zeros, in f32. Only what `function` makes of the places of elements is left in it.
  std::vector<float> of_zeros(Problem problem, const std::string& function) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    problem.epilogue.function = gpu().context().add_function(function);
    std::vector<float> found(static_cast<std::size_t>(problem.batch * problem.m * problem.n));
    DeviceBuffer operands(driver(), kBytes), d(driver(), found.size() * sizeof(float));
    driver().check(driver().cuMemsetD32Async(operands.get(), 0, kBytes / 4, stream()), "clear the operands");
    gpu().context().gemm(stream(), problem,
                         {.a = reinterpret_cast<const void*>(operands.get()),
                          .b = reinterpret_cast<const void*>(operands.get()),
                          .d = reinterpret_cast<void*>(d.get()),
                          .lda = problem.k,
                          .ldb = std::max(problem.n, problem.k),
                          .ldd = problem.n,
                          .batch_stride_d = problem.m * problem.n});
    driver().check(driver().cuStreamSynchronize(stream()), "compute");
    driver().check(driver().cuMemcpyDtoH(found.data(), d.get(), found.size() * sizeof(float)), "fetch D");
    return found;
  }
};

TEST_F(FunctionOnGpu, AnchorsComputeThem) {
  constexpr const char* kTypes[] = {"f16", "bf16", "f32", "f16*f16>f32", "e4m3", "s8*s8>bf16"};
  expect_anchors_right(kTypes, small_run() ? 13 : 3, small_run() ? 8 : 40, fused);
}

TEST_F(FunctionOnGpu, CallsPickAndRunThem) {
  constexpr const char* kProducts[] = {"1 4096 512 nt bf16", "17 264 4096 nt f16", "300 520 256 nn bf16 beta=1",
                                       "130 77 99 tn f16",   "64 64 64 tt f32",    "256 512 512 nt e4m3",
                                       "70 50 0 nt f16"};
  expect_calls_right(kProducts, std::size(kSources), 4, fused);
}

TEST_F(FunctionOnGpu, AProductOfABatchHasItsNumber) {
  constexpr std::size_t kRows = 24, kCols = 40;
  for (const char* text : {"24 40 64 nt f16*f16>f32 batch=5", "24 40 64 nn f32 batch=5"}) {
    const std::vector<float> found = of_zeros(parse_problem(text), "value + batch * 10000 + row * 100 + column");
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t product = i / (kRows * kCols), row = i / kCols % kRows, column = i % kCols;
      ASSERT_EQ(found[i], static_cast<float>(product * 10000 + row * 100 + column)) << text << ", element " << i;
    }
  }
}

/// The text is a variable in global memory, so the cubin keeps its variables.
TEST_F(FunctionOnGpu, ATableInAFunctionIsRead) {
  constexpr std::size_t kCols = 40;
  const std::vector<float> found =
      of_zeros(parse_problem("8 40 64 nt f16*f16>f32"), "value + \"\\1\\2\\3\\4\\5\\6\\7\"[column % 7]");
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], static_cast<float>(i % kCols % 7 + 1)) << i;
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
