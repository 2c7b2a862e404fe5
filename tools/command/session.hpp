#pragma once

#include "gpu/device.hpp"

#include <hotgemm/context.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hotgemm::command {

using Json = nlohmann::ordered_json;

// Exit codes.
inline constexpr int kGood = 0;
inline constexpr int kUsage = 1;
inline constexpr int kSomeFailed = 2;
inline constexpr int kEnvironment = 3;
inline constexpr int kWrongNumbers = 4;
inline constexpr int kInterrupted = 130;

int exit_code_of(ErrorCode code);

/// A message of several lines in one.
std::string one_line(std::string_view message);

/// One run of the command: the options that every subcommand has, and what it has to say.
struct Session {
  bool json = false;
  bool quiet = false;
  int device = 0;
  std::string cache_directory;
  std::string log_level;
  std::string command_line;

  Json output = Json::object();  ///< what --json prints
  std::function<int()> run;      ///< the subcommand that was chosen; returns the exit code

  /// A line for people on stdout; dropped with --json.
  void print(std::string_view line) const;
  /// A line on stderr that -q silences.
  void note(std::string_view line) const;
};

/// A subcommand with the options that all have; `run` is what it does.
CLI::App& add_subcommand(CLI::App& app, Session& session, const std::string& name, const std::string& description,
                         std::function<int()> run);

/// The environment's options, with --cache-dir.
ContextOptions context_options(const Session& session);

/// The GPU that --device names, its primary context current while this lives. Throws Error{no_driver, no_device}.
class Gpu {
 public:
  explicit Gpu(const Session& session);

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return context_.device(); }
  std::int64_t free_bytes() const;

 private:
  const Driver& driver_;
  PrimaryContext context_;
};

/// The GPU that is planned for: that of `arch` as it usually is, or without an `arch` the one that --device names, or
/// an H200 where there is none. Throws Error{invalid_argument} for an unknown architecture.
DeviceInfo planned_device(const Session& session, const std::string& arch);

/// `--scratch`: its bytes, or half of the GPU's free memory if it was not given.
std::int64_t scratch_bytes(const Gpu& gpu, const std::string& option);

/// Throws Error{no_compiler} where NVRTC cannot be loaded: the reason why kernels could not be built.
void explain_failed_builds();

}  // namespace hotgemm::command
