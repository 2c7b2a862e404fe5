#include "command/commands.hpp"

#include "worker/measure_worker.hpp"

#include <memory>

namespace hotgemm::command {

void add_worker_command(CLI::App& app, Session& session) {
  const auto allow_mps = std::make_shared<bool>(false);
  CLI::App& sub = add_subcommand(app, session, "worker", "measure for the hotgemm process that started this one",
                                 [&session, allow_mps]() -> int {
                                   run_measure_worker({context_options(session), session.device, *allow_mps});
                                 });
  sub.group("");  // for hotgemm's own use: --help does not list it
  sub.add_flag("--allow-mps", *allow_mps, "measure even if other processes use the GPU through MPS");
}

}  // namespace hotgemm::command
