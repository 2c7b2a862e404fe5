#include "config/permitted.hpp"

#include "config/class_key.hpp"  // class_count
#include "config/launch_shape.hpp"
#include "config/repack.hpp"
#include "config/sum_order.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace hotgemm {

std::int64_t blocks_under_limit(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem) {
  const LaunchShape shape = launch_shape(config, traits_of(problem, launch));
  const std::int64_t m = std::max<std::int64_t>(class_m(problem.m), 1), n = std::max<std::int64_t>(problem.n, 1);
  return shape.blocks(m, n, std::numeric_limits<int>::max(), launch.splits, problem.sm_limit,
                      class_count(problem.batch), class_count(problem.groups));
}

bool keeps_sm_limit(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem, int sm_count) {
  if (!leaves_out_sms(problem.sm_limit, sm_count)) return true;
  return !launch.programmatic && blocks_under_limit(config, launch, problem) <= problem.sm_limit;
}

bool is_permitted(const KernelConfig& config, const LaunchConfig& launch, const Workload& problem,
                  const RuledGpu& gpu) {
  return keeps_order(problem.order, problem.types, config, launch, gpu.arch) &&
         keeps_sm_limit(config, launch, problem, gpu.sm_count);
}

Error no_kernel(const Workload& problem, std::string_view arch) {
  const bool has_one_order = problem.order == SumOrder::batch_invariant;
  return Error(ErrorCode::not_supported, "no kernel computes " + to_string(problem) + " on " + std::string(arch) +
                                             (has_one_order ? " in the order of sums that batch_invariant has there: "
                                                              "order=deterministic allows others"
                                                            : ""));
}

}  // namespace hotgemm
