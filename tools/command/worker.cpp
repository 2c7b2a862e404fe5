#include "command/commands.hpp"

#include "config/problem_enums.hpp"
#include "worker/measure_worker.hpp"

#include <memory>
#include <string>

namespace hotgemm::command {

void add_worker_command(CLI::App& app, Session& session) {
  const auto allow_mps = std::make_shared<bool>(false);
  const auto cache = std::make_shared<std::string>();
  CLI::App& sub = add_subcommand(app, session, "worker", "measure for the hotgemm process that started this one",
                                 [&session, allow_mps, cache]() -> int {
                                   ContextOptions options = context_options(session);
                                   if (!cache->empty()) options.cache.mode = parse_enum<CacheMode>(*cache, "--cache");
                                   run_measure_worker({options, session.device, *allow_mps});
                                 });
  sub.add_option("--cache", *cache, "rw, ro or off, in place of HOTGEMM_CACHE");
  sub.group("");  // for hotgemm's own use: --help does not list it
  sub.add_flag("--allow-mps", *allow_mps, "measure even if other processes use the GPU through MPS");
}

}  // namespace hotgemm::command
