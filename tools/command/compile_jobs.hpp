#pragma once

#include "runtime/engine.hpp"

#include <CLI/CLI.hpp>

namespace hotgemm::command {

/// Adds --jobs, which sets `jobs`. `jobs` stays 0 if the option is not given.
void add_jobs_option(CLI::App& app, int& jobs);

/// The meaning of 0: one job for each core that this process may use, minus `spare`, and at least one.
int jobs_or_default(int jobs, int spare = 0);

/// Makes `engine` compile in one worker process per job, if `jobs` is more than NVRTC serves well within one process.
/// `engine` must not have built anything yet. Throws Error{io_error}.
void use_workers_for(Engine& engine, int jobs);

}  // namespace hotgemm::command
