#pragma once

#include <mutex>
#include <set>
#include <string>

namespace hotgemm {

/// Gives each warning once, and stops after a few: all ranks of a node meet the same bad directory. Thread-safe.
class CacheWarnings {
 public:
  /// Warns unless a warning about `about` has been given.
  void once(const std::string& about, const std::string& message);

 private:
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace hotgemm
