#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hotgemm {

/// The cap on the workspace of a Context in all CUDA contexts together, and the number of bytes in use. Thread-safe.
class WorkspaceBudget {
 public:
  explicit WorkspaceBudget(std::size_t cap_bytes) : cap_bytes_(cap_bytes) {}

  /// Takes `bytes` if that many are left.
  bool take(std::size_t bytes) noexcept {
    std::size_t used = used_bytes_;
    do {
      if (bytes > cap_bytes_ || used > cap_bytes_ - bytes) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void give_back(std::size_t bytes) noexcept { used_bytes_ -= bytes; }
  std::size_t cap_bytes() const { return cap_bytes_; }
  std::size_t used_bytes() const { return used_bytes_; }

  /// Counts the launches that found no workspace.
  void count_launch_without() noexcept { ++launches_without_; }
  std::uint64_t launches_without() const { return launches_without_; }

 private:
  const std::size_t cap_bytes_;
  std::atomic<std::size_t> used_bytes_{0};
  std::atomic<std::uint64_t> launches_without_{0};
};

}  // namespace hotgemm
