#pragma once

#include "command/session.hpp"

// The subcommands. Each is defined in the file of its name.

namespace hotgemm::command {

void add_info_command(CLI::App& app, Session& session);
void add_prewarm_command(CLI::App& app, Session& session);
void add_tune_command(CLI::App& app, Session& session);
void add_bench_command(CLI::App& app, Session& session);
void add_ladder_command(CLI::App& app, Session& session);
void add_show_command(CLI::App& app, Session& session);
void add_cache_command(CLI::App& app, Session& session);
void add_db_command(CLI::App& app, Session& session);
void add_emulate_command(CLI::App& app, Session& session);
void add_worker_command(CLI::App& app, Session& session);
void add_compile_worker_command(CLI::App& app, Session& session);
/// help, completion and pages. Their pages describe the commands that were added before.
void add_page_commands(CLI::App& app, Session& session);

}  // namespace hotgemm::command
