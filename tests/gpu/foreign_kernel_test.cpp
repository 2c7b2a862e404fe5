// The kernel that programmatic launches are timed behind.

#include "gpu/gpu_fixture.hpp"

#include "base/statistics.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/foreign_kernel.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace hotgemm {
namespace {

class ForeignKernelOnGpu : public GpuTest {};

TEST_F(ForeignKernelOnGpu, ChangesEveryNumber) {
  std::vector<float> numbers((std::size_t{1} << 20) + 4);
  const std::size_t bytes = numbers.size() * sizeof(float);
  const DeviceBuffer buffer(driver(), bytes);
  driver().check(driver().cuMemsetD8Async(buffer.get(), 0, bytes, stream()), "clear a buffer");
  for (int i = 0; i < 2; ++i) gpu().state().check_kernels().pointwise(buffer.get(), bytes, stream());
  driver().check(driver().cuMemcpyDtoHAsync(numbers.data(), buffer.get(), bytes, stream()), "download a buffer");
  driver().check(driver().cuStreamSynchronize(stream()), "download a buffer");
  EXPECT_EQ(std::ranges::count(numbers, pointwise_of(pointwise_of(0))), std::ssize(numbers));
}

TEST_F(ForeignKernelOnGpu, IsShort) {
  const ForeignKernel foreign(driver(), gpu().state().check_kernels(), stream());
  const Contender alone{"the foreign kernel", foreign.launch()};
  const RaceResult result = race(driver(), stream(), std::span(&alone, 1), {.mode = TimingMode::graph});
  const double us = median(result.us.front());
  std::printf("the foreign kernel: %.2f us\n", us);
  EXPECT_GT(us, 0.5);
  EXPECT_LT(us, 6);
}

TEST_F(ForeignKernelOnGpu, AddsNothingToAnOrdinaryLaunch) {
  const ForeignKernel foreign(driver(), gpu().state().check_kernels(), stream());
  const DeviceBuffer buffer(driver(), std::size_t{64} << 20);
  driver().check(driver().cuMemsetD8Async(buffer.get(), 0, buffer.bytes(), stream()), "clear a buffer");
  const Contender ordinary{"an ordinary launch", [&](CUstream on, int) {
                             gpu().state().check_kernels().pointwise(buffer.get(), buffer.bytes(), on);
                           }};
  RaceOptions options{.mode = TimingMode::graph};
  const double in_chain = median(race(driver(), stream(), std::span(&ordinary, 1), options).us.front());
  options.ahead = foreign.launch();
  const double behind = median(race(driver(), stream(), std::span(&ordinary, 1), options).us.front());
  std::printf("in a chain %.2f us, behind another kernel %.2f us\n", in_chain, behind);
  EXPECT_NEAR(behind, in_chain, 0.1 * in_chain);
}

}  // namespace
}  // namespace hotgemm
