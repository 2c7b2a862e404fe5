#include "command/results_file.hpp"

#include "command/build_commit.hpp"
#include "gpu/device.hpp"

#include <hotgemm/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace hotgemm::command {

RunEnvironment run_environment(const Session& session, const std::string& commit, const DeviceState& device,
                               const GpuMonitor& monitor, const std::string& cublas_version) {
  const DeviceInfo& info = device.info();
  const std::string toolchain = device.environment().toolchain;
  return {{"command", "`" + session.command_line + "`"},
          {"hotgemm", fmt::format("{}, commit {}", HOTGEMM_VERSION, commit)},
          {"GPU", fmt::format("{}, {}, {} SMs", info.name, info.arch, info.sm_count)},
          {"SM clock after each problem", monitor.sm_clock()},
          {"power limit", monitor.power_limit()},
          {"driver", fmt::format("{}, CUDA {}", monitor.driver(), driver_version(device.driver()))},
          {"NVRTC", toolchain.empty() ? "not used: all kernels were cached" : toolchain},
          {"cuBLAS", cublas_version}};
}

std::string to_markdown(const RunEnvironment& environment) {
  std::string text;
  for (const auto& [name, value] : environment) text += fmt::format("- {}: {}\n", name, value);
  return text;
}

void add_results_options(CLI::App& app, ResultsOptions& options) {
  options.commit = build_commit();
  CLI::Option* const results =
      app.add_option("--results", options.file, "append a section of markdown to this file")->type_name("FILE");
  app.add_option("--commit", options.commit, "the commit to name with --results (default: this build's)")
      ->needs(results);
}

ResultsFile::ResultsFile(std::string name) : name_(std::move(name)) {
  if (name_.empty()) return;
  file_.emplace(name_, std::ios::app);
  if (*file_) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("cannot append to {}: {}", name_, std::strerror(errno)));
}

void ResultsFile::append(const std::string& gpu,
                         const std::function<std::string(const std::string& heading)>& section) {
  if (!file_) return;
  const std::string date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  *file_ << (file_->tellp() > 0 ? "\n" : "") << section(fmt::format("{}, {}", gpu, date)) << std::flush;
  if (!*file_) throw Error(ErrorCode::io_error, "cannot write all of " + name_);
}

}  // namespace hotgemm::command
