#include "command/commands.hpp"

#include "worker/compile_worker.hpp"

namespace hotgemm::command {

void add_compile_worker_command(CLI::App& app, Session& session) {
  add_subcommand(app, session, "compile-worker", "compile for the hotgemm process that started this one", []() -> int {
    run_compile_worker();
  }).group("");  // for hotgemm's own use: --help does not list it
}

}  // namespace hotgemm::command
