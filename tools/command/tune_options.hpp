#pragma once

#include "command/session.hpp"

#include <hotgemm/context.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace hotgemm::command {

/// The options about tuning that `tune` and `bench` share.
struct TuningOptions {
  int candidates = 40;   ///< the model misses the best of few rows among its first 20
  double budget_s = 10;  ///< more than a call may take: few problems need it, those with the longest kernels
  int rounds = TuneOptions{}.rounds;
  int jobs = 0;
  std::uint64_t seed = 1;
  std::string scratch;
};

void add_tuning_options(CLI::App& app, TuningOptions& options);

/// As the library takes them; scratch_bytes is 0 without --scratch. Throws Error{invalid_argument} for a bad one.
TuneOptions tune_options(const TuningOptions& options);
/// The same with half of `gpu`'s free memory without --scratch.
TuneOptions tune_options(const TuningOptions& options, const Gpu& gpu);

}  // namespace hotgemm::command
