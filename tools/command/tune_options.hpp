#pragma once

#include "command/session.hpp"

#include <hotgemm/context.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace hotgemm::command {

/// The tuning options that `tune` and `bench` share.
struct TuningOptions {
  int candidates = 40;   ///< for a few rows the first 20 of the model miss the best config
  double budget_s = 12;  ///< longer than in a call; problems need it where power binds, or if a launch takes long
  int rounds = TuneOptions{}.rounds;
  int jobs = 0;
  std::uint64_t seed = 1;
  std::string scratch;
};

void add_tuning_options(CLI::App& app, TuningOptions& options);

/// The options in the form of the library; scratch_bytes is 0 without --scratch. Throws Error{invalid_argument} for a
/// bad --scratch.
TuneOptions tune_options(const TuningOptions& options);
/// The options for `gpu`: without --scratch, scratch_bytes is half of its free memory.
TuneOptions tune_options(const TuningOptions& options, const Gpu& gpu);

}  // namespace hotgemm::command
