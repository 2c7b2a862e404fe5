#include "cache/cache_warnings.hpp"

#include "base/log.hpp"

namespace hotgemm {
namespace {

constexpr std::size_t kMostWarnings = 32;

}  // namespace

void CacheWarnings::once(const std::string& about, const std::string& message) {
  bool is_last = false;
  {
    const std::lock_guard guard(mutex_);
    if (told_.size() == kMostWarnings || !told_.insert(about).second) return;
    is_last = told_.size() == kMostWarnings;
  }
  log(LogLevel::warn, "kernel cache: " + message + (is_last ? "; this cache gives no further warnings" : ""));
}

}  // namespace hotgemm
