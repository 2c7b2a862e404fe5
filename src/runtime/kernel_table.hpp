#pragma once

#include "gpu/loaded_kernel.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// The loaded kernels of a CUDA context, by symbol. Each is loaded once, without a lock: threads that ask for a kernel
/// that is being loaded wait for it, and others go on. Kernels stay until the table ends. Thread-safe.
template <class Kernel>
class KernelTable {
 public:
  /// The kernel of `symbol`. If there is none, it is the result of `load()`, which may take long. An Error of `load` is
  /// thrown to its caller, and the next thread tries again; but a RefusedCubin is final, and thrown to all.
  template <class Load>
  std::shared_ptr<Kernel> find_or_load(const std::string& symbol, Load&& load) {
    if (std::shared_ptr<Kernel> found = find_or_begin(symbol)) return found;
    try {
      return end(symbol, {.kernel = std::make_shared<Kernel>(std::forward<Load>(load)()), .refusal = {}});
    } catch (const RefusedCubin& refusal) {
      end(symbol, {.kernel = nullptr, .refusal = refusal});
      throw;
    } catch (...) {
      end(symbol, {});
      throw;
    }
  }
  /// Throws the RefusedCubin of an earlier load of `symbol`, if there was one.
  void require_not_refused(const std::string& symbol) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(symbol);
    if (found != entries_.end() && found->second.refusal) throw RefusedCubin(*found->second.refusal);
  }
  /// The loaded kernels.
  std::vector<std::shared_ptr<const Kernel>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const Kernel>> kernels;
    for (const auto& [symbol, entry] : entries_) {
      if (entry.kernel) kernels.push_back(entry.kernel);
    }
    return kernels;
  }
  /// Calls `visit` with every loaded kernel. No other thread may use the table.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& [symbol, entry] : entries_) {
      if (entry.kernel) visit(*entry.kernel);
    }
  }

 private:
  /// The state of a kernel. An entry with neither is being loaded.
  struct Entry {
    std::shared_ptr<Kernel> kernel;
    std::optional<RefusedCubin> refusal;
  };

  /// The kernel, or nullptr if the caller is to load it.
  std::shared_ptr<Kernel> find_or_begin(const std::string& symbol) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto [found, is_new] = entries_.try_emplace(symbol);
      if (is_new) return nullptr;
      if (found->second.refusal) throw RefusedCubin(*found->second.refusal);
      if (found->second.kernel) return found->second.kernel;
      landed_.wait(lock);
    }
  }
  std::shared_ptr<Kernel> end(const std::string& symbol, Entry entry) {
    std::shared_ptr<Kernel> kernel = entry.kernel;
    {
      const std::lock_guard lock(mutex_);
      if (entry.kernel || entry.refusal) {
        entries_.at(symbol) = std::move(entry);
      } else {
        entries_.erase(symbol);
      }
    }
    landed_.notify_all();
    return kernel;
  }

  std::mutex mutex_;  // held for moments: never while a kernel is compiled or loaded
  std::condition_variable landed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace hotgemm
