#pragma once

#include "config/kernel_config.hpp"
#include "config/launch_config.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/problem.hpp>

#include <cstdint>
#include <string_view>

namespace hotgemm {

/// The GPU to which the rules of a problem apply.
struct RuledGpu {
  const ArchLimits& arch;
  int sm_count;
};

/// The number of blocks of `launch` for the largest m of the class of `problem`, if persistent blocks stay within its
/// SM limit; all blocks if that is 0.
std::int64_t blocks_under_limit(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem);

/// True if the kernels of `launch` occupy at most as many SMs as the limit of `problem` allows on a GPU with `sm_count`
/// SMs, for each m of the problem's class. A programmatic launch breaks the limit: it runs beside the kernel ahead of
/// it.
bool keeps_sm_limit(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem, int sm_count);

/// True if `launch` of `config` keeps the order of sums and the SM limit of `problem`. Plans, candidates and records
/// all follow this rule.
bool is_permitted(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem, const RuledGpu& gpu);

/// The error of a problem that no kernel computes on `arch`, or none in the order of sums that it demands.
Error no_kernel(const Workload& problem, std::string_view arch);

}  // namespace hotgemm
