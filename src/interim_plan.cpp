#include "base/log.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"

#include <hotgemm/error.hpp>

#include <cstdint>
#include <exception>
#include <utility>

// To load a kernel waits for every kernel that runs in the CUDA context, milliseconds in a busy server. So under
// Policy::background the first call of a class runs a kernel that is loaded, if one will do, and the thread of the
// background loads the one that the class is to have.

namespace hotgemm {
namespace {

/// An interim kernel may be expected to take so many times the time of the best choice. The class runs it for ten to
/// some hundred calls. A load would have cost the time of one to three calls.
constexpr double kMostSlowdown = 2;

}  // namespace

std::shared_ptr<const PlanImpl> Context::Impl::interim_plan(DeviceState& device, const Workload& problem) {
  const bool keeps_first = problem.order == SumOrder::deterministic || pinned_.contains(class_key(problem));
  if (keeps_first || !options_.background.loads_kernels || !device.is_primary() || device.kernel_count() == 0) {
    return nullptr;
  }
  const auto is_loaded = [&](const Choice& choice) {
    return device.is_loaded(choice.config, traits_of(problem, choice.launch));
  };
  const Affordable affordable = affordable_choices(device, problem);
  if (affordable.choices.empty()) return nullptr;
  const Choice& best = affordable.choices.front();
  const Choice* without = engine_.workspace_of(best.config, best.launch, problem).is_empty()
                              ? nullptr
                              : first_without_workspace(affordable.choices, best, problem, engine_.workspace_of);
  const bool is_ready = is_loaded(best) && (without == nullptr || is_loaded(*without)) &&
                        (!repacks(best.launch) || device.is_repack_kernel_loaded());
  if (is_ready) return nullptr;
  const double most_us = kMostSlowdown * predicted_us(device, problem, best);
  for (const Choice& choice : affordable.choices) {
    // A kernel that needs workspace, as copies of operands do, would have that and another kernel loaded.
    if (!is_loaded(choice) || !engine_.workspace_of(choice.config, choice.launch, problem).is_empty()) continue;
    if (!(predicted_us(device, problem, choice) <= most_us)) continue;
    const GemmTraits traits = traits_of(problem, choice.launch);
    const std::optional<Cubin> cubin =
        engine_.builder.find(render(choice.config, traits, device.info().arch, engine_.bundle));
    if (!cubin || cubin->spill_bytes > most_spill_bytes(problem)) continue;
    std::shared_ptr<const PlanImpl> plan = device.make_plan(choice, traits, *cubin, {}, "interim", false);
    return background_.load_later(device, problem, plan) ? plan : nullptr;
  }
  return nullptr;
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
