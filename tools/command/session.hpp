#pragma once

#include "command/standard_streams.hpp"
#include "gpu/device.hpp"

#include <hotgemm/context.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
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

/// The version of the output of --json. It grows if a field changes its meaning or goes; docs/json.md says how.
inline constexpr int kJsonVersion = 1;

int exit_code_of(ErrorCode code);

/// Joins the lines of a message into one line.
std::string one_line(std::string_view message);
/// "1 record", "2 records".
std::string in_words(std::size_t count, const std::string& what);

/// One run of the command: the common options of all subcommands, and the output.
struct Session {
  bool json = false;
  bool quiet = false;
  int device = 0;
  std::string cache_directory;
  std::string log_level;
  std::string command_line;

  std::string schema = "error";  ///< the name of the output's schema in docs/json: "cache-ls"
  Json output = Json::object();  ///< printed by --json
  std::function<int()> run;      ///< the chosen subcommand; returns the exit code

  /// Prints a line for people on stdout, unless --json is given.
  void print(std::string_view line) const;
  /// Prints a line on stderr, unless -q is given.
  void note(std::string_view line) const;
};

/// The common options that have a meaning for a subcommand, beside --json and --log-level.
struct CommonOptions {
  bool device = true;    ///< --device
  bool cache = true;     ///< --cache-dir
  bool progress = true;  ///< --quiet
};

/// Adds a subcommand with the common options. `run` executes it.
CLI::App& add_subcommand(CLI::App& app, Session& session, const std::string& name, const std::string& description,
                         std::function<int()> run, CommonOptions common = {});

/// Refuses an empty value, as a script passes it if its variable is not set, and words that CLI11 takes for numbers:
/// NaN, infinity, and -1 where no number is negative.
void check_values(const CLI::App& sub);

/// The options from the environment, changed by --cache-dir.
ContextOptions context_options(const Session& session);

/// The GPU of --device. Its primary context is current while this object lives. Throws Error{no_driver, no_device}.
class Gpu {
 public:
  explicit Gpu(const Session& session);

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return context_.device(); }

 private:
  const Driver& driver_;
  PrimaryContext context_;
};

/// The GPU to plan for. With `arch`: the usual GPU of that architecture. Without `arch`: the GPU of --device, or an
/// H200 if there is none. Throws Error{invalid_argument} for an unknown architecture.
DeviceInfo planned_device(const Session& session, const std::string& arch);

/// Throws Error{io_error} if --cache-dir names a directory that does not exist: a command that only reads it, or
/// removes something, has nothing to do there, and the name is probably wrong.
void require_cache_directory(const Session& session);

/// True if nothing at all has this path: neither a directory that cannot be used, nor a link to nothing.
bool is_absent(const std::filesystem::path& path);

/// Refuses what parse_size does not understand.
CLI::Validator size_check();

/// Adds `--scratch`, which refuses 0: operands need memory.
void add_scratch_option(CLI::App& app, std::string& scratch);
/// The bytes of `--scratch`, or half of the GPU's free memory if the option was not given.
std::int64_t scratch_bytes(const Gpu& gpu, const std::string& option);

/// Throws Error{no_compiler} if NVRTC cannot be loaded, because that is why kernels could not be built.
void explain_failed_builds();

}  // namespace hotgemm::command
