#include "command/arch_option.hpp"

#include "command/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hotgemm::command {
namespace {

/// "90a" of any of the forms in which people write an architecture.
std::string number_of(std::string_view word) {
  for (const std::string_view prefix : {"sm_", "sm", "compute_"}) {
    if (word.starts_with(prefix)) {
      word.remove_prefix(prefix.size());
      break;
    }
  }
  std::string number(word);
  std::erase(number, '.');
  return number;
}

std::string native_arch(const Session& session) {
  const Driver& driver = Driver::get();
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, session.device), fmt::format("--arch native: open GPU {}", session.device));
  return query_device(driver, device).arch;
}

CLI::Validator named_arch(const Session& session) {
  return {[&session](std::string& word) -> std::string {
            word = word == "native" ? native_arch(session) : arch_named(word);
            return {};
          },
          ""};
}

}  // namespace

std::string arch_named(std::string_view word) {
  const std::vector<std::string> known = known_archs();
  const std::string name = "sm_" + number_of(word);
  if (std::ranges::find(known, name) != known.end()) return name;
  throw Error(ErrorCode::invalid_argument, fmt::format("unknown architecture {}{}; known are {}, and native", word,
                                                       did_you_mean(name, known), fmt::join(known, ", ")));
}

CLI::Option* add_arch_option(CLI::App& app, const Session& session, std::string& arch, const std::string& help) {
  return app.add_option("--arch", arch, help)->type_name("ARCH")->transform(named_arch(session));
}

CLI::Option* add_arch_option(CLI::App& app, const Session& session, std::vector<std::string>& archs,
                             const std::string& help) {
  return app.add_option("--arch", archs, help)->type_name("ARCH")->delimiter(',')->transform(named_arch(session));
}

}  // namespace hotgemm::command
