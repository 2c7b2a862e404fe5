#include "ceiling.hpp"

#include "ceiling_args.hpp"
#include "plan/render.hpp"
#include "plan/statistics.hpp"

namespace hotgemm::command {
namespace {

constexpr int kRounds = 5;
constexpr double kRoundUs = 50'000;

Cubin build(DeviceState& device) {
  const std::string& arch = device.info().arch;
  if (!arch_limits(arch).has_cp_async) {
    throw Error(ErrorCode::not_supported, "--ceiling: " + arch + " has no mma.sync.m16n8k16");
  }
  return *device.engine().builder.build(render_ceiling(arch, device.engine().bundle)).cubin;
}

void require_success(const RaceResult& raced) {
  for (const std::string& failure : raced.failures) {
    if (!failure.empty()) throw Error(ErrorCode::driver_error, failure);
  }
}

}  // namespace

Ceiling::Ceiling(DeviceState& device)
    : driver_(device.driver()),
      blocks_(device.info().sm_count),
      kernel_(driver_, build(device), 0),
      results_(driver_, static_cast<std::size_t>(ceiling_result_bytes(blocks_))) {}

Contender Ceiling::contender(DType accumulator) const {
  const Launch launch = [this, accumulator](CUstream on, int) {
    CeilingArgs args{
        .results = results_.get(), .iterations = kCeilingIterations, .seed = 1, .accumulator = accumulator};
    void* parameters[] = {&args};
    driver_.check(driver_.cuLaunchKernel(kernel_.function(), static_cast<unsigned>(blocks_), 1, 1, kCeilingThreads, 1,
                                         1, 0, on, parameters, nullptr),
                  "launch the ceiling kernel");
  };
  return {"ceiling " + std::string(to_string(accumulator)), launch};
}

double Ceiling::tflops(double us) const { return ceiling_flops(blocks_, kCeilingIterations) / us * 1e-6; }

double Ceiling::measure(DType accumulator, CUstream stream) const {
  const Contender alone = contender(accumulator);
  const RaceResult raced =
      hotgemm::race(driver_, stream, std::span(&alone, 1), {.rounds = kRounds, .round_us = kRoundUs});
  require_success(raced);
  return tflops(median(raced.us.front()));
}

void Ceiling::race(const Contender& ours, int sets, const BenchOptions& options, CUstream stream,
                   BenchResult& result) const {
  const Problem& p = result.problem;
  const std::vector<Contender> contenders{ours, contender(p.accumulator)};
  const RaceResult raced =
      hotgemm::race(driver_, stream, contenders,
                    {.sets = sets, .rounds = options.rounds, .round_us = 2 * options.round_us, .seed = options.seed});
  require_success(raced);
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  std::vector<double> shares = paired_ratios(raced.us[1], raced.us[0]);  // of times; of rates after scaling
  for (double& share : shares) share *= flops / ceiling_flops(blocks_, kCeilingIterations);
  result.ceiling_tflops = tflops(median(raced.us[1]));
  result.of_ceiling = median(shares);
  result.of_ceiling_ci = median_interval(shares);
}

}  // namespace hotgemm::command
