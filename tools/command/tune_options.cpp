#include "command/tune_options.hpp"

#include "cache/cache_options.hpp"
#include "command/compile_jobs.hpp"

namespace hotgemm::command {

void add_tuning_options(CLI::App& app, TuningOptions& options) {
  app.option_defaults()->group("Measuring");
  app.add_option("--candidates", options.candidates, "how many kernels to compile and try per problem")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--budget", options.budget_s, "seconds of measuring per problem")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_jobs_option(app, options.jobs);
  app.add_option("--seed", options.seed, "seed for the data and the order of measurements")->capture_default_str();
  add_scratch_option(app, options.scratch);
}

TuneOptions tune_options(const TuningOptions& options) {
  return {.max_candidates = options.candidates,
          .budget_s = options.budget_s,
          .scratch_bytes = options.scratch.empty() ? 0 : static_cast<std::int64_t>(parse_size(options.scratch)),
          .jobs = options.jobs,
          .rounds = options.rounds,
          .seed = options.seed};
}

TuneOptions tune_options(const TuningOptions& options, const Gpu& gpu) {
  TuneOptions result = tune_options(options);
  result.scratch_bytes = scratch_bytes(gpu, options.scratch);
  return result;
}

}  // namespace hotgemm::command
