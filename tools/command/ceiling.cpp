#include "command/ceiling.hpp"

#include "base/statistics.hpp"
#include "config/render.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"

namespace hotgemm::command {
namespace {

constexpr int kRounds = 5;
constexpr double kRoundUs = 50'000;

void require_success(const RaceResult& raced) {
  for (const std::string& failure : raced.failures) {
    if (!failure.empty()) throw Error(ErrorCode::driver_error, failure);
  }
}

}  // namespace

std::vector<CeilingInstruction> Ceiling::instructions(const DeviceState& device) {
  const std::string& arch = device.info().arch;
  if (!arch_limits(arch).has_cp_async) {
    throw Error(ErrorCode::not_supported, "--ceiling: " + arch + " has no mma.sync.m16n8k16");
  }
  if (arch_limits(arch).has_wgmma) return {CeilingInstruction::wgmma, CeilingInstruction::mma};
  return {CeilingInstruction::mma};
}

Ceiling::Ceiling(DeviceState& device, CeilingInstruction instruction)
    : device_(device),
      driver_(device.driver()),
      instruction_(instruction),
      blocks_(device.info().sm_count),
      results_(driver_, static_cast<std::size_t>(ceiling_result_bytes(blocks_))) {}

bool Ceiling::serves(const Workload& problem) const {
  const GemmTraits traits = traits_of(problem);
  if (traits.element != traits.element_b) return false;
  switch (traits.element) {
    case DType::f16:
    case DType::bf16: return true;
    case DType::e4m3:
    case DType::e5m2:
    case DType::s8:
    case DType::tf32: return instruction_ == CeilingInstruction::wgmma;
    case DType::f32:
    case DType::s32: return false;
  }
  return false;
}

std::string Ceiling::name() const {
  return instruction_ == CeilingInstruction::wgmma ? "wgmma from shared memory" : "mma.sync from registers";
}

Contender Ceiling::contender(DType element, DType accumulator) {
  const int smem_bytes = ceiling_shared_bytes(instruction_);
  auto found = kernels_.find({element, accumulator});
  if (found == kernels_.end()) {
    Engine& engine = device_.engine();
    const KernelSource source =
        render_ceiling({instruction_, element, accumulator}, device_.info().arch, engine.bundle);
    LoadedKernel kernel(driver_, *engine.builder.build(source).cubin, smem_bytes);
    found = kernels_.emplace(std::pair(element, accumulator), std::move(kernel)).first;
  }
  const CUfunction function = found->second.function();
  const Launch launch = [this, function, smem_bytes](CUstream on, int) {
    CeilingArgs args{.results = results_.get(), .iterations = ceiling_iterations(instruction_), .seed = 1};
    void* parameters[] = {&args};
    driver_.check(driver_.cuLaunchKernel(function, static_cast<unsigned>(blocks_), 1, 1, kCeilingThreads, 1, 1,
                                         static_cast<unsigned>(smem_bytes), on, parameters, nullptr),
                  "launch the ceiling kernel");
  };
  return {"ceiling " + std::string(to_string(accumulator)), launch};
}

double Ceiling::flops_of(DType element) const {
  return ceiling_flops(instruction_, element, blocks_, ceiling_iterations(instruction_));
}

CeilingRates Ceiling::rates_alone(CUstream stream) {
  CeilingRates rates{{"f32", measure(DType::f16, DType::f32, stream)},
                     {"f16", measure(DType::f16, DType::f16, stream)}};
  if (instruction_ != CeilingInstruction::wgmma) return rates;
  for (const DType element : {DType::tf32, DType::s8, DType::e4m3})
    rates.emplace_back(to_string(element), measure(element, element == DType::s8 ? DType::s32 : DType::f32, stream));
  return rates;
}

double Ceiling::measure(DType element, DType accumulator, CUstream stream) {
  const Contender alone = contender(element, accumulator);
  const RaceResult raced =
      hotgemm::race(driver_, stream, std::span(&alone, 1), {.rounds = kRounds, .round_us = kRoundUs});
  require_success(raced);
  return flops_of(element) / median(raced.us.front()) * 1e-6;
}

void Ceiling::race(const Contender& ours, int sets, const BenchOptions& options, CUstream stream, BenchResult& result) {
  const Workload& p = result.problem;
  const GemmTraits traits = traits_of(p);
  const std::vector<Contender> contenders{ours, contender(traits.element, traits.accumulator)};
  const RaceResult raced =
      hotgemm::race(driver_, stream, contenders,
                    {.sets = sets, .rounds = options.rounds, .round_us = 2 * options.round_us, .seed = options.seed});
  require_success(raced);
  const double flops = hotgemm::flops(p);
  std::vector<double> shares = paired_ratios(raced.us[1], raced.us[0]);  // ratios of times; scaled to rates below
  for (double& share : shares) share *= flops / flops_of(traits.element);
  result.ceiling_tflops = flops_of(traits.element) / median(raced.us[1]) * 1e-6;
  result.of_ceiling = median(shares);
  result.of_ceiling_ci = median_interval(shares);
}

}  // namespace hotgemm::command
