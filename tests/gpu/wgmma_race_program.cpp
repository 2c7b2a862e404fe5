// wgmma_race_program PROBLEM MODE RASTERS CONFIG...: kernels of the `wgmma` family against cuBLAS, interleaved.
//
// PROBLEM is a text such as "4096 7168 2048 nt e4m3"; if it has an epilogue, each config races without it too. MODE is
// eager or graph, RASTERS a list such as r8m,r4n; a CONFIG is the numbers of WgmmaConfig's fields, in order. Prints
// TFLOP/s and the ratio of the baseline's time to the kernel's, with its 95 % interval. The baseline is the fastest of
// cuBLAS's default and all algorithms of cuBLASLt's heuristics; N(0,1) data, cold L2.

#include "base/statistics.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "gpu/wgmma_kernel.hpp"
#include "tune/bench.hpp"

#include <hotgemm/hotgemm.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

WgmmaConfig parse_wgmma(const std::string& text) {
  WgmmaConfig config;
  const std::vector<std::string> parts = split(text, ',');
  std::size_t next = 0;
  WgmmaConfig::visit_fields(config, [&](const ConfigField&, auto& member) {
    member = static_cast<std::remove_reference_t<decltype(member)>>(std::stoi(parts.at(next++)));
  });
  return config;
}

/// Checks a kernel without an epilogue on exact sums; others have tests of their own.
std::string wrong_result(const WgmmaKernel& kernel, const Workload& problem, const OperandSet& set,
                         const LaunchConfig& raster, DeviceState& state, CUstream stream) {
  if (problem.epilogue != Epilogue{}) return {};
  const CheckKernels& check = state.check_kernels();
  check.fill_check(problem, set, 5, stream);
  kernel.launch(problem.m, problem.n, problem.k, OperandPool::operands(set, 1, 0), raster, state.info().sm_count,
                stream);
  return check.check(problem, set, 5, 1, 0, stream);
}

int run(const Workload& problem, TimingMode mode, const std::vector<LaunchConfig>& rasters,
        const std::vector<WgmmaConfig>& configs) {
  const Driver& driver = Driver::get();
  const PrimaryContext primary(driver, 0);
  ContextOptions options;
  options.policy = Policy::estimate;
  Context context(options);
  DeviceState& state = impl_of(context).current();
  const OwnedStream stream(driver);
  const OperandPool pool(driver, problem, state.info().l2_bytes, std::int64_t{4} << 30);
  const std::vector<OperandSet>& sets = pool.sets();
  const auto report = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  std::vector<WgmmaKernel> kernels = build_wgmma_kernels(driver, configs, traits_of(problem), report);
  Workload bare = problem;
  bare.epilogue = {};
  const std::size_t fused = bare == problem ? 0 : kernels.size();
  if (fused > 0) {
    for (WgmmaKernel& kernel : build_wgmma_kernels(driver, configs, traits_of(bare), report))
      kernels.push_back(std::move(kernel));
  }

  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const WgmmaKernel& kernel = kernels[i];
    const bool is_bare = i >= fused;
    const std::string wrong = wrong_result(kernel, is_bare ? bare : problem, sets[0], rasters[0], state, stream.get());
    if (!wrong.empty()) {
      std::printf("%s: %s\n", kernel.cubin().symbol.c_str(), wrong.c_str());
      continue;
    }
    for (const LaunchConfig& raster : rasters) {
      contenders.push_back(
          {to_string(KernelConfig(kernel.config())) + " " + to_string(raster) + (is_bare && fused > 0 ? " bare" : ""),
           [&, raster](CUstream on, int set) {
             kernel.launch(problem.m, problem.n, problem.k,
                           OperandPool::operands(sets[static_cast<std::size_t>(set)], 1, 0), raster,
                           state.info().sm_count, on);
           }});
    }
  }
  for (const OperandSet& set : sets) state.check_kernels().fill_normal(problem, set, 1, stream.get());
  CublasBaseline cublas(driver);
  contenders.push_back(fastest_baseline(driver, stream.get(), sets, problem, cublas, {.mode = mode}));
  contenders.push_back(cublas.default_gemm(problem, sets, 1, 0));
  const std::size_t baseline = contenders.size() - 2;

  RaceOptions race_options;
  race_options.mode = mode;
  race_options.sets = static_cast<int>(sets.size());
  race_options.rounds = 11;
  race_options.round_us = 4000;
  const RaceResult raced = race(driver, stream.get(), contenders, race_options);
  const double flops =
      2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
  std::printf("%s\n", to_string(problem).c_str());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const std::vector<double> ratios = paired_ratios(raced.us[baseline], raced.us[i]);
    const Interval ci = median_interval(ratios);
    std::printf("%-72s %7.1f us %6.1f TF  %.4f [%.4f, %.4f] %s\n", contenders[i].name.c_str(), median(raced.us[i]),
                flops / median(raced.us[i]) * 1e-6, median(ratios), ci.low, ci.high, raced.failures[i].c_str());
  }
  return 0;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  using namespace hotgemm;
  try {
    if (argc < 5) throw std::runtime_error("usage: wgmma_race_program PROBLEM MODE RASTERS CONFIG...");
    const Workload problem = parse_workload(argv[1]);
    const std::string mode_name = argv[2];
    if (mode_name != "eager" && mode_name != "graph") throw std::runtime_error("MODE is eager or graph: " + mode_name);
    const TimingMode mode = mode_name == "graph" ? TimingMode::graph : TimingMode::eager;
    std::vector<LaunchConfig> rasters;
    for (const std::string& raster : split(argv[3], ',')) rasters.push_back(parse_launch(raster).value());
    std::vector<WgmmaConfig> configs;
    for (int i = 4; i < argc; ++i) configs.push_back(parse_wgmma(argv[i]));
    return run(problem, mode, rasters, configs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
