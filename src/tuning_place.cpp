#include "tuning_place.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "runtime/shipped_records.hpp"
#include "tune/tune_options.hpp"
#include "worker/isolated_measurer.hpp"

#include <hotgemm/error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <vector>

#ifndef HOTGEMM_INSTALLED_BIN_DIR
#define HOTGEMM_INSTALLED_BIN_DIR ""
#endif

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondContextBytes = std::int64_t{768} << 20;  // of another process, with our kernels in it
// A kernel counts as hung if its worker is silent for a quarter of the budget, within these limits. On a busy machine a
// good step may take the lower one.
constexpr double kLeastSilenceS = 0.5;
constexpr double kMostSilenceS = 2;

fs::path own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

/// The reason why `program` cannot be the worker; empty if it can.
std::string unfitness(const fs::path& program) {
  std::error_code error;
  const fs::path file = fs::canonical(program, error);
  struct stat status {};
  if (error || ::stat(file.c_str(), &status) != 0) return "there is no " + program.string();
  if (!S_ISREG(status.st_mode) || ::access(file.c_str(), X_OK) != 0) return program.string() + " is no program";
  if (file == own_program()) return program.string() + " is the program of this process";
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) return program.string() + " belongs to another user";
  if ((status.st_mode & S_IWOTH) != 0) return "everybody may write to " + program.string();
  return {};
}

/// The places of a command that was installed with the library.
std::vector<fs::path> installed_commands() {
  std::vector<fs::path> commands;
  if (const fs::path library = own_file(); !library.empty() && library != own_program()) {
    // lib/libhotgemm.so is one below the prefix, lib/<triplet>/libhotgemm.so two.
    const fs::path directory = library.parent_path();
    const fs::path above = directory.parent_path();
    commands = {directory / "hotgemm", above / "bin" / "hotgemm", above.parent_path() / "bin" / "hotgemm"};
  }
  if (*HOTGEMM_INSTALLED_BIN_DIR != '\0') commands.emplace_back(HOTGEMM_INSTALLED_BIN_DIR "/hotgemm");
  return commands;
}

bool is_exclusive(const Driver& driver, CUdevice device) {
  int mode = 0;
  if (driver.cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device) != CUDA_SUCCESS) return false;
  return mode != CU_COMPUTEMODE_DEFAULT;
}

}  // namespace

TuningPlace::TuningPlace(const ContextOptions& options)
    : cache_directory_(options.cache_directory), cache_mode_(options.cache.mode) {
  validate(options.tuning);
  const std::string asked = options.worker.empty() ? environment_variable("HOTGEMM_WORKER") : options.worker;
  if (asked == "none") {
    why_none_ = "no worker process is wanted";
  } else if (!asked.empty()) {
    why_none_ = unfitness(asked);
    if (why_none_.empty()) program_ = fs::canonical(asked);  // this process may go to another directory
    if (why_none_.empty()) return;
    log(LogLevel::warn, "kernels are measured in this process, not in a worker: " + why_none_);
  } else {
    for (const fs::path& command : installed_commands()) {
      if (!unfitness(command).empty()) continue;
      program_ = fs::canonical(command);
      return;
    }
    why_none_ = "no hotgemm command is installed with the library";
  }
}

MakeMeasurer TuningPlace::measurer(const DeviceState& device, const TuneOptions& options) {
  if (program_.empty()) {
    tell("in this process: " + why_none_);
    return {};
  }
  CUdevice gpu = 0;
  device.driver().check(device.driver().cuCtxGetDevice(&gpu), "read the current context's GPU");
  return [this, &device, &options, gpu](std::chrono::steady_clock::time_point deadline) {
    return start(device, options, gpu, deadline);
  };
}

std::unique_ptr<Measurer> TuningPlace::start(const DeviceState& device, const TuneOptions& options, int ordinal,
                                             std::chrono::steady_clock::time_point deadline) {
  const Driver& driver = device.driver();
  if (is_exclusive(driver, ordinal)) {
    tell("in this process: the GPU's compute mode allows no second one");
    return nullptr;
  }
  const std::int64_t free = free_bytes(driver);
  if (free < scratch_limit(options, free) + kSecondContextBytes) {
    tell("in this process: the GPU has too little free memory for a second one");
    return nullptr;
  }
  try {
    auto worker = std::make_unique<IsolatedMeasurer>(
        WorkerOptions{.program = program_,
                      .device = ordinal,
                      .cache_directory = cache_directory_,
                      .cache_mode = cache_mode_,
                      .hang_timeout_s = std::clamp(options.budget_s / 4, kLeastSilenceS, kMostSilenceS),
                      .deadline = deadline});
    tell("in processes of " + program_.string());
    return worker;
  } catch (const Error& error) {
    tell("in this process: no worker process could be started: " + std::string(error.what()));
    if (error.code() == ErrorCode::not_supported) throw;  // a kernel that faults here would end other processes too
    return nullptr;
  }
}

void TuningPlace::tell(const std::string& place) {
  {
    const std::lock_guard lock(mutex_);
    if (told_ == place) return;
    told_ = place;
  }
  const bool is_here = place.starts_with("in this process");
  log(LogLevel::info, "kernels are measured " + place +
                          (is_here ? "; only kernels that are known to be harmless, if there are enough of them" : ""));
}

}  // namespace hotgemm
