#pragma once

#include "engine.hpp"

#include <CLI/CLI.hpp>

namespace hotgemm::command {

/// --jobs, into `jobs`, which stays 0 where it is not given.
void add_jobs_option(CLI::App& app, int& jobs);

/// Lets `engine`, which has not built anything yet, compile `jobs` kernels at once; 0 is as many as this process has
/// cores. NVRTC compiles in threads up to the number that it serves well within one process; beyond, each thread has a
/// worker process. Returns the number. Throws Error{io_error}.
int use_compile_jobs(Engine& engine, int jobs);

}  // namespace hotgemm::command
