#include "ladder/roofline.hpp"

#include "config/arch_rates.hpp"
#include "config/launch_shape.hpp"
#include "config/traits.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace hotgemm {
namespace {

constexpr std::array<std::string_view, 7> kPipeWords = {"CUDA cores f32",   "CUDA cores f16",   "CUDA cores s32",
                                                        "tensor cores f32", "tensor cores f16", "tensor cores s32",
                                                        "tensor cores tf32"};

/// FLOP per SM and clock.
double flops_of(Pipe pipe, const ArchRates& rates) {
  switch (pipe) {
    case Pipe::cuda_f32: return rates.cuda_f32_flops;
    case Pipe::cuda_f16: return rates.cuda_f16_flops;
    case Pipe::cuda_s32: return rates.cuda_s8_flops;
    case Pipe::tensor_f32: return rates.tensor_f32_flops;
    case Pipe::tensor_f16: return rates.tensor_f16_flops;
    case Pipe::tensor_s32: return rates.tensor_f16_flops * 2;  // half as many bytes of an operand
    case Pipe::tensor_tf32: return rates.tensor_f32_flops / 2;
  }
  return 0;
}

/// True if the config has the field of a thread tile: then its kernel uses CUDA cores.
template <class Config>
constexpr bool kUsesCudaCores = requires(const Config& c) {
  c.thread_m;
};

double to_double(std::int64_t value) { return static_cast<double>(value); }
double ceil_div(std::int64_t a, std::int64_t b) { return to_double((a + b - 1) / b); }

}  // namespace

std::string_view to_string(Pipe pipe) { return kPipeWords[static_cast<std::size_t>(pipe)]; }

Pipe pipe_of(const std::optional<KernelConfig>& config, const GemmTraits& traits) {
  const bool uses_cuda_cores =
      config ? std::visit([](const auto& c) { return kUsesCudaCores<std::decay_t<decltype(c)>>; }, *config)
             : traits.element == DType::f32;
  if (traits.accumulator == DType::s32) return uses_cuda_cores ? Pipe::cuda_s32 : Pipe::tensor_s32;
  if (traits.accumulator == DType::f16) return uses_cuda_cores ? Pipe::cuda_f16 : Pipe::tensor_f16;
  if (uses_cuda_cores) return Pipe::cuda_f32;
  return traits.element == DType::tf32 ? Pipe::tensor_tf32 : Pipe::tensor_f32;
}

double peak_tflops(Pipe pipe, const DeviceInfo& device) {
  return flops_of(pipe, arch_rates(device.arch)) * device.sm_count * device.clock_mhz * 1e-6;
}

double device_ratio(double peak_tflops, double dram_gbps) { return peak_tflops * 1e3 / dram_gbps; }

ReuseTile reuse_tile(const KernelConfig& config, const GemmTraits& traits) {
  const LaunchShape shape = launch_shape(config, traits);
  const ReuseTile blocks{shape.tile_m, shape.tile_n};
  return std::visit(
      [&](const auto& c) {
        if constexpr (requires { c.thread_m, c.stages; }) {
          return c.stages == 0 ? ReuseTile{c.thread_m, c.thread_n} : blocks;
        } else {
          return blocks;
        }
      },
      config);
}

double least_bytes(const Workload& p) { return traffic_bytes({static_cast<int>(p.m), static_cast<int>(p.n)}, p); }

double traffic_bytes(const ReuseTile& tile, const Workload& p) {
  const double a = to_double(p.m) * to_double(p.k) * ceil_div(p.n, tile.cols);
  const double b = to_double(p.n) * to_double(p.k) * ceil_div(p.m, tile.rows);
  const double c_and_d = to_double(p.m) * to_double(columns_of_d(p)) * (p.hints.beta_is_zero ? 1 : 2);
  return a * size_bytes(p.types.a) + b * size_bytes(p.types.b) + c_and_d * size_bytes(p.types.d);
}

Roofline roofline(const std::optional<KernelConfig>& config, const Workload& problem, const DeviceInfo& device) {
  const GemmTraits traits = traits_of(problem);
  Roofline r{.pipe = pipe_of(config, traits)};
  r.traffic_bytes = config ? traffic_bytes(reuse_tile(*config, traits), problem) : least_bytes(problem);
  r.intensity = flops(problem) / r.traffic_bytes;
  r.problem_intensity = flops(problem) / least_bytes(problem);
  r.peak_tflops = peak_tflops(r.pipe, device);
  r.device_ratio = device_ratio(r.peak_tflops, device.dram_gbps);
  r.bound_tflops = std::min(r.peak_tflops, r.intensity * device.dram_gbps * 1e-3);
  r.is_compute_bound = r.intensity >= r.device_ratio;
  return r;
}

}  // namespace hotgemm
