#pragma once

#include "command/gpu_monitor.hpp"
#include "command/session.hpp"
#include "runtime/device_state.hpp"

#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm::command {

/// The environment of a run, as a list of names and values.
using RunEnvironment = std::vector<std::pair<std::string, std::string>>;

/// The environment of measurements on `device`: command, commit, GPU, clocks, driver, NVRTC and cuBLAS.
RunEnvironment run_environment(const Session& session, const std::string& commit, const DeviceState& device,
                               const GpuMonitor& monitor, const std::string& cublas_version);

/// The environment as a markdown list.
std::string to_markdown(const RunEnvironment& environment);

/// --results and --commit. Each run appends a section to the document.
struct ResultsOptions {
  std::string file;
  std::string commit;
};
void add_results_options(CLI::App& app, ResultsOptions& options);

class ResultsFile {
 public:
  /// Opens the file before anything is measured, so that a wrong directory does not cost an hour of measurements. An
  /// empty name means no file. Throws Error{invalid_argument}.
  explicit ResultsFile(std::string name);

  /// Appends the section for a heading with `gpu` and the time. Does nothing without a file. Throws Error{io_error}.
  void append(const std::string& gpu, const std::function<std::string(const std::string& heading)>& section);

 private:
  std::string name_;
  std::optional<std::ofstream> file_;
};

}  // namespace hotgemm::command
