#include "runtime/loaded_choice.hpp"

#include "config/class_key.hpp"
#include "config/permitted.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "plan/model.hpp"

#include <algorithm>
#include <utility>

namespace hotgemm {

std::optional<LoadedChoice> best_loaded(DeviceState& device, const Workload& asked, double most_slowdown,
                                        double most_extra_us) {
  const DeviceInfo& gpu = device.info();
  const Workload problem = with_largest_sizes(asked);  // the plan serves the class
  const std::optional<Found> found = find_record(asked, gpu.arch, device.engine().database, device.query());
  const RuledGpu rules{arch_limits(gpu.arch), gpu.sm_count};
  const GemmTraits traits = traits_of(problem, {});
  const double bound = bound_us(problem, gpu);
  double least_us = std::max(most_slowdown * bound, bound + most_extra_us);
  std::optional<LoadedChoice> best;
  for (std::shared_ptr<const GemmKernel>& kernel : device.kernels()) {
    if (kernel->traits != traits || kernel->resources.spill_bytes > most_spill_bytes(problem)) continue;
    if (!kernel->shape.fits(problem.m, problem.n, problem.k, problem.batch, problem.groups)) continue;
    const bool is_recorded = found && found->record.config == kernel->config;
    const LaunchConfig launch = is_recorded ? found->record.launch : default_launch(kernel->config, problem, gpu);
    if (!is_permitted(kernel->config, launch, problem, rules)) continue;
    // Copies of operands lie in a workspace too.
    if (!device.engine().workspace_of(kernel->config, launch, problem).is_empty()) continue;
    const double us = predict_us(kernel->config, problem, gpu);
    if (!is_recorded && !(us <= least_us)) continue;
    least_us = us;
    best = {{.config = kernel->config, .launch = launch}, std::move(kernel)};
    if (is_recorded) break;
  }
  return best;
}

}  // namespace hotgemm
