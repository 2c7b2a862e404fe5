#pragma once

#include "config/class_key.hpp"
#include "plan/pinned_config.hpp"

#include <mutex>
#include <optional>
#include <unordered_map>

namespace hotgemm {

/// The problem classes whose config the program has named. Thread-safe.
class PinnedClasses {
 public:
  std::optional<PinnedConfig> find(const ClassKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = configs_.find(key);
    return found != configs_.end() ? std::optional(found->second) : std::nullopt;
  }
  bool contains(const ClassKey& key) const {
    const std::lock_guard lock(mutex_);
    return configs_.contains(key);
  }
  void set(const ClassKey& key, const PinnedConfig& config) {
    const std::lock_guard lock(mutex_);
    configs_.insert_or_assign(key, config);
  }
  void erase(const ClassKey& key) {
    const std::lock_guard lock(mutex_);
    configs_.erase(key);
  }

 private:
  struct Hash {
    std::size_t operator()(const ClassKey& key) const noexcept { return hash_of(key); }
  };

  mutable std::mutex mutex_;  // guards the member below
  std::unordered_map<ClassKey, PinnedConfig, Hash> configs_;
};

}  // namespace hotgemm
