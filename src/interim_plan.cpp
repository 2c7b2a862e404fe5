#include "base/log.hpp"
#include "context_impl.hpp"
#include "runtime/loaded_choice.hpp"

#include <hotgemm/error.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

// To load a kernel waits for every kernel that runs in the CUDA context, milliseconds in a busy server. So under
// Policy::background the first call of a class runs a kernel that is loaded, if one will do, and the thread of the
// background loads the one that the class is to have.

namespace hotgemm {
namespace {

/// An interim kernel may be expected to take so many times the least time that a kernel could take, or so much more.
/// The class runs it for ten to some hundred calls. A server would rather have these slow calls than one that waits.
constexpr double kMostSlowdown = 3, kMostExtraUs = 50;

}  // namespace

std::shared_ptr<const PlanImpl> Context::Impl::interim_plan(DeviceState& device, const Workload& problem) {
  const bool keeps_first = problem.order == SumOrder::deterministic || pinned_.contains(class_key(problem));
  if (keeps_first || !options_.background.loads_kernels || !device.is_primary()) return nullptr;
  std::optional<LoadedChoice> best = best_loaded(device, problem, kMostSlowdown, kMostExtraUs);
  if (!best) return nullptr;
  std::shared_ptr<const PlanImpl> plan = device.make_plan(best->choice, std::move(best->kernel), {}, "interim");
  return background_.load_later(device, problem, plan) ? plan : nullptr;
}

void Context::Impl::replace_interim(const BackgroundTuner::Waiting& waiting) {
  DeviceState& device = *waiting.device;
  const ClassKey key = class_key(waiting.problem);
  const ClassFlights::Flight flight = device.planning().wait_for(key, engine_.counters.waiting);
  std::optional<PlanEntry> known = device.plans().get(key, false);
  if (!known || !known->is_interim || known->plan != waiting.plan.lock()) return;  // planned by other means meanwhile
  const WaitTimer timer(engine_.counters.planning);
  const std::uint64_t reloads = engine_.database.reloads();
  const std::string interim = to_string(known->plan->choice().config);
  try {
    known->plan = plan_without_measuring(device, waiting.problem, Policy::estimate);
    set_workspace_apart(device, *known->plan);
    log(LogLevel::info, "exchanged " + to_string(waiting.problem) + " in " + to_ms(timer.elapsed()) + ": " +
                            to_string(known->plan->choice()) + ", after " + interim + ", which was loaded");
  } catch (const std::exception& error) {
    log(LogLevel::warn, to_string(waiting.problem) + " keeps " + interim + ", although another kernel is expected to " +
                            "be faster: " + error.what());
  }
  known->is_interim = known->is_outdated = false;
  insert(device, key, *known, reloads);
  if (known->is_provisional) background_.add(device, waiting.problem, known->plan);
}

}  // namespace hotgemm
