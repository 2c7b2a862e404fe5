#include "command/session.hpp"

#include "cache/cache_options.hpp"
#include "command/command_page.hpp"
#include "gpu/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace hotgemm::command {
namespace {

int device_count(const Driver& driver) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "count the GPUs");
  return count;
}

int checked_ordinal(const Driver& driver, int ordinal) {
  const int count = device_count(driver);
  if (ordinal >= count) {
    throw Error(ErrorCode::no_device, fmt::format("--device {}: the driver reports {} GPU{}, numbered from 0", ordinal,
                                                  count, count == 1 ? "" : "s"));
  }
  return ordinal;
}

/// True for a whole number that is negative, or more than 64 bits hold.
bool wraps(const std::string& value) {
  errno = 0;
  std::strtoull(value.c_str(), nullptr, 0);
  return value.starts_with('-') || errno == ERANGE;
}

}  // namespace

std::string one_line(std::string_view message) {
  std::string text;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] != '\n') {
      text += message[i];
      continue;
    }
    i = std::min(message.find_first_not_of(" \n", i), message.size()) - 1;
    if (!text.ends_with(':') && i + 1 < message.size()) text += ';';
    text += ' ';
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string in_words(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return kUsage;
    case ErrorCode::no_driver:
    case ErrorCode::no_device:
    case ErrorCode::no_compiler:
    case ErrorCode::io_error: return kEnvironment;
    case ErrorCode::wrong_result: return kWrongNumbers;
    case ErrorCode::interrupted: return kInterrupted;
    default: return kSomeFailed;
  }
}

void Session::print(std::string_view line) const {
  if (!json) write_out(std::string(line) + "\n");
}

void Session::note(std::string_view line) const {
  if (!quiet) print_err("{}\n", line);
}

void check_values(const CLI::App& sub) {
  for (const CLI::Option* option : sub.get_options()) {
    const std::string type = option->get_type_name();
    for (const std::string& value : option->results()) {
      if (value.empty()) throw CLI::ArgumentMismatch(option->get_name() + ": the value is empty");
      const bool is_infinite = type.starts_with("FLOAT") && !std::isfinite(std::strtod(value.c_str(), nullptr));
      if (!is_infinite && !(type.starts_with("UINT") && wraps(value))) continue;
      throw CLI::ValidationError(option->get_name(), "Value " + value + " not in range");
    }
  }
}

CLI::App& add_subcommand(CLI::App& app, Session& session, const std::string& name, const std::string& description,
                         std::function<int()> run, CommonOptions common) {
  CLI::App& sub = *app.add_subcommand(name, description);
  sub.get_help_ptr()->group(kCommonGroup);
  sub.option_defaults()->group(kCommonGroup);
  sub.add_flag("--json", session.json, "print one JSON object on stdout, and nothing else there; docs/json.md");
  if (common.progress) sub.add_flag("-q,--quiet", session.quiet, "print no progress on stderr");
  if (common.device) {
    sub.add_option("--device", session.device, "index of the GPU in the driver's order, from 0")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
  }
  if (common.cache) {
    sub.add_option(
           "--cache-dir", session.cache_directory,
           "directory of kernels and tuning records (default: HOTGEMM_CACHE_DIR, else the user's cache directory)")
        ->type_name("DIR");
  }
  sub.add_option("--log-level", session.log_level, "how much the library reports on stderr")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  sub.option_defaults()->group("Options");
  const std::string schema = app.get_parent() == nullptr ? name : app.get_name() + "-" + name;
  sub.callback([&session, &sub, schema, run = std::move(run)] {
    check_values(sub);
    session.schema = schema;
    session.run = run;
  });
  return sub;
}

ContextOptions context_options(const Session& session) {
  ContextOptions options = ContextOptions::from_environment();
  options.problem_log = "none";  // of programs, not of our own measurements
  if (!session.cache_directory.empty()) {
    options.cache_directory = std::filesystem::absolute(session.cache_directory).lexically_normal().string();
  }
  return options;
}

Gpu::Gpu(const Session& session)
    : driver_(Driver::get()), context_(driver_, checked_ordinal(driver_, session.device)) {}

DeviceInfo planned_device(const Session& session, const std::string& arch) {
  if (!arch.empty()) return nominal_device(arch);
  try {
    const Driver& driver = Driver::get();
    CUdevice device = 0;
    driver.check(driver.cuDeviceGet(&device, session.device), fmt::format("open GPU {}", session.device));
    return query_device(driver, device);
  } catch (const Error&) {
    return nominal_device("sm_90a");
  }
}

void require_cache_directory(const Session& session) {
  const std::string& name = session.cache_directory;
  std::error_code error;
  if (name.empty() || std::filesystem::exists(name, error)) return;
  throw Error(ErrorCode::io_error, fmt::format("--cache-dir {}: there is no such directory", name));
}

bool is_absent(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found;
}

CLI::Validator size_check() {
  const auto check = [](std::string& text) -> std::string {
    try {
      parse_size(text);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  return {check, ""};
}

void add_scratch_option(CLI::App& app, std::string& scratch) {
  const auto check = [](const std::string& text) {
    return parse_size(text) > 0 ? std::string() : "size " + in_quotes(text) + ": operands need memory";
  };
  app.add_option("--scratch", scratch, "device memory for operands, as in 512M or 8G (default: half of what is free)")
      ->type_name("SIZE")
      ->check(size_check())
      ->check(CLI::Validator(check, ""));
}

std::int64_t scratch_bytes(const Gpu& gpu, const std::string& option) {
  return option.empty() ? free_bytes(gpu.driver()) / 2 : static_cast<std::int64_t>(parse_size(option));
}

void explain_failed_builds() { Nvrtc::get(); }

}  // namespace hotgemm::command
