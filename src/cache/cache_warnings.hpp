#pragma once

#include <mutex>
#include <set>
#include <string>

namespace hotgemm {

/// Says each thing once, and stops after a few: a node's ranks all meet the same bad directory. Thread-safe.
class CacheWarnings {
 public:
  /// Warns unless `about` has been warned of before.
  void once(const std::string& about, const std::string& message);

 private:
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace hotgemm
