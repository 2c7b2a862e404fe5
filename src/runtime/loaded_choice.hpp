#pragma once

#include "runtime/device_state.hpp"

#include <memory>
#include <optional>

namespace hotgemm {

/// A choice whose kernel is loaded.
struct LoadedChoice {
  Choice choice;
  std::shared_ptr<const GemmKernel> kernel;
};

/// The loaded kernel that is expected to compute the class of `problem` fastest, of those that need no workspace: that
/// of the class's record if it is loaded. Nothing if none is expected within `most_slowdown` times bound_us, nor
/// within `most_extra_us` beyond it. It takes the host some microseconds, where choosing among all kernels takes half a
/// millisecond.
std::optional<LoadedChoice> best_loaded(DeviceState& device, const Workload& problem, double most_slowdown,
                                        double most_extra_us);

}  // namespace hotgemm
