#include "base/environment.hpp"
#include "base/text.hpp"
#include "config/problem_enums.hpp"
#include "context_impl.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <charconv>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>

namespace hotgemm {
namespace {

std::int64_t parse_workspace_bytes(std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  try {
    if (const std::uint64_t bytes = parse_size(text); bytes <= kMost) return static_cast<std::int64_t>(bytes);
  } catch (const Error&) {  // its message does not name the variable
  }
  throw Error(ErrorCode::invalid_argument,
              "HOTGEMM_WORKSPACE_BYTES is \"" + std::string(text) + "\"; it is bytes, or a number with K, M, G or T");
}

std::int64_t parse_max_plans(std::string_view text) {
  std::int64_t plans = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), plans);
  if (error == std::errc() && end == text.data() + text.size() && plans >= 1) return plans;
  throw Error(ErrorCode::invalid_argument,
              "HOTGEMM_MAX_PLANS is \"" + std::string(text) + "\"; it is a number of plans, at least 1");
}

/// A policy by its name, or by the words that the variable had before it took names.
Policy parse_policy(std::string_view text) {
  if (text == "never") return Policy::estimate;
  if (text == "missing") return Policy::tune;
  for (const Policy policy : {Policy::cached_only, Policy::estimate, Policy::tune, Policy::background}) {
    if (text == to_string(policy)) return policy;
  }
  throw Error(ErrorCode::invalid_argument,
              "HOTGEMM_TUNE is \"" + std::string(text) +
                  "\"; it is cached_only, estimate (or never), tune (or missing), or background");
}

}  // namespace

ContextOptions with_fixed_directory(ContextOptions options) {
  if (options.cache_directory.empty()) return options;
  std::error_code error;
  const std::filesystem::path fixed = std::filesystem::absolute(options.cache_directory, error);
  if (error) {
    throw Error(ErrorCode::io_error, "cache_directory is \"" + options.cache_directory +
                                         "\", and the working directory is not known: " + error.message());
  }
  options.cache_directory = fixed.string();
  return options;
}

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::cached_only: return "cached_only";
    case Policy::estimate: return "estimate";
    case Policy::tune: return "tune";
    case Policy::background: return "background";
  }
  return "?";
}

ContextOptions ContextOptions::from_environment() {
  ContextOptions options;
  const auto read = [](const char* name, auto&& use) {
    if (const std::string text = environment_variable(name); !text.empty()) use(text);
  };
  read("HOTGEMM_TUNE", [&](const std::string& text) { options.policy = parse_policy(text); });
  read("HOTGEMM_OBJECTIVE",
       [&](const std::string& text) { options.objective = parse_enum<Objective>(text, "HOTGEMM_OBJECTIVE"); });
  read("HOTGEMM_WORKSPACE_BYTES",
       [&](const std::string& text) { options.workspace_bytes = parse_workspace_bytes(text); });
  read("HOTGEMM_MAX_PLANS", [&](const std::string& text) { options.max_plans = parse_max_plans(text); });
  return options;
}

}  // namespace hotgemm
