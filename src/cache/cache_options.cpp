#include "cache/cache_options.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"

#include <hotgemm/error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace hotgemm {
namespace {

[[noreturn]] void bad_value(const char* name, const std::string& value, const std::string& expected) {
  throw Error(ErrorCode::invalid_argument, std::string(name) + "=" + value + ": expected " + expected);
}

bool is_usable_path(const char* name, const std::string& value) {
  if (!value.empty() && value.front() == '/') return true;
  // A program opens several caches. It is told once.
  static auto& mutex = *new std::mutex;  // threads may outlive main
  static auto& told = *new std::set<std::string>;
  const std::scoped_lock lock(mutex);
  if (!told.insert(name + value).second) return false;
  log(LogLevel::warn, std::string(name) + ": ignored '" + value + "', which is not an absolute path");
  return false;
}

bool is_directory(const std::string& path) {
  struct ::stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Everyone can write to /tmp, so the directory must be absent or certainly belong to this user alone.
std::filesystem::path directory_in_tmp() {
  const std::string path = "/tmp/hotgemm-" + std::to_string(::geteuid());
  struct ::stat status {};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT ? path : std::string();
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 0077U) == 0) return path;
  log(LogLevel::warn, "kernels are cached in memory only: " + path + " is not a private directory of this user");
  return {};
}

std::vector<std::filesystem::path> layers_of(const std::string& value) {
  std::vector<std::filesystem::path> layers;
  std::size_t begin = 0;
  while (begin <= value.size() && !value.empty()) {
    const std::size_t end = std::min(value.find(':', begin), value.size());
    const std::string layer = value.substr(begin, end - begin);
    if (is_usable_path("HOTGEMM_CACHE_PATH", layer)) layers.emplace_back(layer);
    begin = end + 1;
  }
  return layers;
}

CacheMode mode_of(const std::string& value) {
  if (value.empty() || value == "rw") return CacheMode::read_write;
  if (value == "ro") return CacheMode::read_only;
  if (value == "off") return CacheMode::off;
  bad_value("HOTGEMM_CACHE", value, "rw, ro or off");
}

/// Sets `bytes` if the variable is set.
void read_size(const char* name, std::uint64_t& bytes) {
  const std::string value = environment_variable(name);
  if (value.empty()) return;
  try {
    bytes = parse_size(value);
  } catch (const Error&) {
    bad_value(name, value, "bytes, or a number with K, M, G or T");
  }
}

}  // namespace

std::string why_unchanged(std::string_view what, const std::filesystem::path& directory, CacheMode mode) {
  return "nothing is " + std::string(what) + " " + directory.string() + ", because the mode of the cache is " +
         std::string(to_string(mode)) + " (HOTGEMM_CACHE)";
}

std::filesystem::path default_cache_directory() {
  if (const std::string chosen = environment_variable("HOTGEMM_CACHE_DIR"); !chosen.empty()) {
    if (is_usable_path("HOTGEMM_CACHE_DIR", chosen)) return chosen;
  }
  if (const std::string base = environment_variable("XDG_CACHE_HOME"); !base.empty()) {
    if (is_usable_path("XDG_CACHE_HOME", base)) return std::filesystem::path(base) / "hotgemm";
  }
  if (const std::string home = environment_variable("HOME"); !home.empty() && is_usable_path("HOME", home)) {
    // Service accounts may have a home that does not exist. The cache does not create it.
    if (is_directory(home)) return std::filesystem::path(home) / ".cache" / "hotgemm";
  }
  return directory_in_tmp();
}

BinaryCacheOptions BinaryCacheOptions::from_environment() {
  BinaryCacheOptions options;
  options.mode = mode_of(environment_variable("HOTGEMM_CACHE"));
  options.directory = default_cache_directory();
  options.read_only_layers = layers_of(environment_variable("HOTGEMM_CACHE_PATH"));
  read_size("HOTGEMM_CACHE_MAX_SIZE", options.max_bytes);
  read_size("HOTGEMM_CACHE_MAX_MEMORY", options.max_memory_bytes);
  const std::string trust = environment_variable("HOTGEMM_CACHE_TRUST");
  if (!trust.empty() && trust != "shared") bad_value("HOTGEMM_CACHE_TRUST", trust, "shared");
  options.trust_shared = trust == "shared";
  const std::string durable = environment_variable("HOTGEMM_CACHE_DURABLE");
  if (!durable.empty() && durable != "0" && durable != "1") bad_value("HOTGEMM_CACHE_DURABLE", durable, "0 or 1");
  options.durable = durable == "1";
  return options;
}

BinaryCacheOptions BinaryCacheOptions::with(const CacheOptions& options) const {
  BinaryCacheOptions result = *this;
  result.mode = options.mode.value_or(mode);
  result.max_bytes = options.max_bytes.value_or(max_bytes);
  result.max_memory_bytes = options.max_memory_bytes.value_or(max_memory_bytes);
  result.trust_shared = options.trust_shared.value_or(trust_shared);
  result.durable = options.durable.value_or(durable);
  if (!options.read_only_layers) return result;
  result.read_only_layers.assign(options.read_only_layers->begin(), options.read_only_layers->end());
  for (const std::filesystem::path& layer : result.read_only_layers) {
    if (layer.is_absolute()) continue;
    throw Error(ErrorCode::invalid_argument, "a read-only layer is '" + layer.string() + "'; it is an absolute path");
  }
  return result;
}

}  // namespace hotgemm
