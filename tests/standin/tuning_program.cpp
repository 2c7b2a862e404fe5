// Tunes problem after problem in a worker until it is killed: tuning_program CACHE_DIRECTORY FIRST
// FIRST is the number of the first problem. Each number is a different problem class.
// Prints a line with the problem and the winner's name as soon as a result is recorded.

#include "standin/fake_trials.hpp"

#include "runtime/engine.hpp"
#include "worker/isolated_measurer.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int, char** argv) {
  using namespace hotgemm;
  try {
    ContextOptions options;
    options.cache_directory = argv[1];
    Engine engine(options);
    IsolatedMeasurer measurer({.program = HOTGEMM_COMMAND, .cache_directory = argv[1], .hang_timeout_s = 600});
    const std::vector<Candidate> candidates = standin::fake_candidates(Workload({.m = 8, .n = 16, .k = 8}), 4);
    for (int i = std::atoi(argv[2]);; ++i) {
      const Workload problem{Problem{.m = 1, .n = 8 * (1 + i % 22), .k = 8 * (1 + i / 22)}};
      const TuneOutcome outcome =
          search(engine, measurer, problem, candidates, {.budget_s = 600, .rounds = 2, .scratch_bytes = 1 << 20});
      std::printf("%s|%s\n", to_string(problem).c_str(), to_string(outcome.record->config).c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tuning_program: %s\n", error.what());
    return 1;
  }
}
