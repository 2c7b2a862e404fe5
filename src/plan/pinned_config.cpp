#include "plan/pinned_config.hpp"

#include "config/class_key.hpp"
#include "config/device_info.hpp"
#include "config/launch_shape.hpp"
#include "config/permitted.hpp"
#include "config/refusal.hpp"
#include "config/repack.hpp"
#include "plan/model.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>

namespace hotgemm {
namespace {

/// The reason why no kernel of `pinned` computes `problem`, apart from workspace; empty if there is none. Its first
/// check is about the config alone, because nothing can be computed with some of them.
std::string why_unfit(const Workload& problem, const PinnedConfig& pinned, const std::string& arch) {
  const KernelConfig& config = pinned.config;
  std::string reason = refusal(config, traits_of(problem, with_repacks({}, config, problem)), arch);
  if (!reason.empty()) return reason;
  const LaunchConfig launch = with_repacks(pinned.launch.value_or(LaunchConfig{}), config, problem);
  if (!is_legal(launch, config)) return "it cannot be launched as " + to_string(launch);
  if (!launch_shape(config, traits_of(problem, launch))
           .fits(problem.m, problem.n, problem.k, problem.batch, problem.groups)) {
    return "the problem is too large for it";
  }
  return {};
}

}  // namespace

PinnedConfig parse_pinned(std::string_view config, std::string_view launch) {
  const std::optional<KernelConfig> parsed = parse_config(config);
  if (!parsed) throw Error(ErrorCode::invalid_argument, "there is no config \"" + std::string(config) + '"');
  if (launch.empty()) return {*parsed, std::nullopt};
  const std::optional<LaunchConfig> parsed_launch = parse_launch(launch);
  if (!parsed_launch) throw Error(ErrorCode::invalid_argument, "there is no launch \"" + std::string(launch) + '"');
  return {*parsed, parsed_launch};
}

Choice pinned_choice(const Workload& asked, const PinnedConfig& pinned, const std::string& arch, int sm_count,
                     const WorkspaceOf& workspace_of, std::size_t cap_bytes) {
  const Workload problem = with_largest_sizes(asked);
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorCode::not_supported,
                to_string(pinned.config) + " cannot be pinned for " + to_string(asked) + " on " + arch + ": " + reason);
  };
  const std::string reason = why_unfit(problem, pinned, arch);
  if (!reason.empty()) refuse(reason);
  DeviceInfo device = nominal_device(arch);
  device.sm_count = sm_count;
  const LaunchConfig launch =
      with_repacks(pinned.launch.value_or(default_launch(pinned.config, problem, device)), pinned.config, problem);
  if (!is_permitted(pinned.config, launch, problem, {arch_limits(arch), sm_count})) {
    refuse("launched as " + to_string(launch) + " it does not keep the order of sums or the SM limit");
  }
  const std::size_t bytes = workspace_of(pinned.config, launch, problem).total_bytes();
  const std::size_t most_bytes = workspace_cap(problem.hints.workspace, cap_bytes);
  if (bytes > most_bytes) {
    refuse("it needs " + std::to_string(bytes) + " bytes of workspace; the cap is " + std::to_string(most_bytes));
  }
  return {pinned.config, launch, Origin::pinned, 0};
}

}  // namespace hotgemm
