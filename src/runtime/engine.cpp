#include "runtime/engine.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "config/identity.hpp"
#include "runtime/shipped_records.hpp"

#include <hotgemm/version.hpp>

#include <sys/auxv.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

BinaryCacheOptions cache_options(const ContextOptions& options) {
  BinaryCacheOptions result = BinaryCacheOptions::from_environment().with(options.cache);
  if (!options.cache_directory.empty()) result.directory = options.cache_directory;
  return result;
}

/// In a set-id process, the environment of the caller must not decide which code runs.
bool may_read(const BinaryCacheOptions& cache) { return getauxval(AT_SECURE) == 0 && cache.mode != CacheMode::off; }

bool reads_shipped_records(const ContextOptions& options) {
  if (options.shipped_records) return *options.shipped_records;
  const std::string word = environment_variable("HOTGEMM_SHIPPED_RECORDS");
  if (word.empty() || word == "on") return true;
  if (word == "off") return false;
  throw Error(ErrorCode::invalid_argument, "HOTGEMM_SHIPPED_RECORDS=" + word + ": expected on or off");
}

DatabaseOptions database_options(const ContextOptions& options) {
  LayerOptions layer = layer_options(options);
  DatabaseOptions result{.user_directory = std::move(layer.user_directory),
                         .writable = layer.writable,
                         .trust_shared = layer.trust_shared,
                         .warn = std::move(layer.warn)};
  if (BinaryCacheOptions cache = cache_options(options); may_read(cache)) {
    result.read_only_layers = std::move(cache.read_only_layers);
  }
  if (!reads_shipped_records(options)) return result;
  ShippedRecords shipped = shipped_records();
  result.shipped = std::move(shipped.directory);
  result.shipped_owner = shipped.owner;
  return result;
}

TemplateBundle bundle_of(const ContextOptions& options) {
  return options.template_directory.empty() ? TemplateBundle::from_environment()
                                            : TemplateBundle::from_directory(options.template_directory);
}

std::size_t workspace_cap(const ContextOptions& options) {
  if (options.workspace_bytes < 0 || options.workspace_captures < 0) {
    throw Error(ErrorCode::invalid_argument, "workspace_bytes is " + std::to_string(options.workspace_bytes) +
                                                 " and workspace_captures " +
                                                 std::to_string(options.workspace_captures) + "; neither is negative");
  }
  return static_cast<std::size_t>(options.workspace_bytes);
}

std::size_t plan_cap(const ContextOptions& options) {
  if (options.max_plans >= 1) return static_cast<std::size_t>(options.max_plans);
  throw Error(ErrorCode::invalid_argument,
              "max_plans is " + std::to_string(options.max_plans) + "; at least one plan must be kept");
}

/// nullptr if there is to be none.
std::unique_ptr<ProblemLog> problem_log_of(const ContextOptions& options) {
  std::string directory =
      options.problem_log.empty() ? environment_variable("HOTGEMM_PROBLEM_LOG") : options.problem_log;
  if (directory.empty() || directory == "none") return nullptr;
  std::error_code none;  // without a working directory the log tells the reason
  std::filesystem::path fixed = std::filesystem::absolute(directory, none);  // this process may go to another directory
  if (none) fixed = std::move(directory);
  return std::make_unique<ProblemLog>(ProblemLogOptions{.directory = std::move(fixed)});
}

}  // namespace

Engine::Engine(const ContextOptions& options, Records records)
    : objective(options.objective),
      max_plans(plan_cap(options)),
      bundle(bundle_of(options)),
      cache(cache_options(options)),
      database(records == Records::layers ? database_options(options) : DatabaseOptions{}),
      rejections(RejectionLogOptions{layer_options(options), {}}),
      cublas_choices(layer_options(options)),
      vetted(layer_options(options)),
      attempts(layer_options(options)),
      builder(cache, bundle),
      workspace(workspace_cap(options)),
      problem_log(problem_log_of(options)) {}

Cubin Engine::count(const KernelSource& source, const std::function<BuildResult()>& build) {
  const auto start = std::chrono::steady_clock::now();
  BuildResult result = build();
  if (!result.from_cache) {
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    ++compiled;
    counters.compiling.add(time);
    log(LogLevel::info, "compiled " + source.symbol + " in " + to_ms(time));
  }
  return *std::move(result.cubin);
}

std::string Engine::records_digest() const {
  IdentityBuilder builder;
  builder.field("version", HOTGEMM_VERSION)
      .field("objective", to_string(objective))
      .field("workspace", std::to_string(workspace.cap_bytes()));
  for (const Family& family : families()) builder.field("templates", bundle.digest(family.header));
  database.add_digest_fields(builder);
  return builder.build().hex();
}

std::string Engine::template_digest(const KernelConfig& config) const {
  return bundle.digest(family_of(config).header);
}

GpuQuery Engine::query(const Environment& environment) const {
  return {.environment = environment,
          .template_digest = [this](const KernelConfig& config) { return template_digest(config); },
          .objective = objective};
}

LayerOptions layer_options(const ContextOptions& options) {
  BinaryCacheOptions cache = cache_options(options);
  LayerOptions result;
  if (may_read(cache)) result.user_directory = std::move(cache.directory);
  result.writable = cache.mode == CacheMode::read_write;
  result.trust_shared = cache.trust_shared;
  result.warn = [](const std::string& message) { log(LogLevel::warn, message); };
  return result;
}

}  // namespace hotgemm
