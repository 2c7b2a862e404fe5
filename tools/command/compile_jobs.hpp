#pragma once

#include "runtime/engine.hpp"

#include <CLI/CLI.hpp>

namespace hotgemm::command {

/// --jobs, into `jobs`, which stays 0 where it is not given.
void add_jobs_option(CLI::App& app, int& jobs);

/// What 0 stands for: a job for each core that this process may use, all but `spare`, and at least one.
int jobs_or_default(int jobs, int spare = 0);

/// Lets `engine`, which has not built anything yet, compile in a worker process per job where `jobs` are more than
/// NVRTC serves well within one process. Throws Error{io_error}.
void use_workers_for(Engine& engine, int jobs);

}  // namespace hotgemm::command
