#include "tune/tune.hpp"

#include "tune/device_measurer.hpp"

namespace hotgemm {

SearchOptions search_options(const TuneOptions& options) {
  return {.budget_s = options.budget_s,
          .rounds = options.rounds,
          .seed = options.seed,
          .scratch_bytes = options.scratch_bytes};
}

TuneOutcome tune_problem(DeviceState& device, const Workload& problem, const TuneOptions& options) {
  Engine& engine = device.engine();
  std::vector<Candidate> candidates = pick_candidates(problem, device.info_with_clocks(), options.max_candidates,
                                                      &engine.database, device.query(), affordable_by(engine, problem));
  build_candidates(candidates, problem, device.environment(), engine, options.jobs);
  DeviceMeasurer measurer(device);
  return search(engine, measurer, problem, std::move(candidates), search_options(options));
}

}  // namespace hotgemm
