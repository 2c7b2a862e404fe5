#pragma once

#include "base/file_lock.hpp"
#include "gpu/driver.hpp"
#include "runtime/tuning_turn.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hotgemm {

/// The right to measure on a GPU, from construction to destruction. One thread of one process of this user has it: two
/// measurements at once on a GPU would disturb each other.
///
/// Between processes it is a lock on the file gpu-<PCI bus id>.lock in a directory of this node, which stays there. The
/// lock ends with its holder, even if the holder is killed; a child of fork() does not have it. Where no directory can
/// be used it works within the process only.
class GpuLock {
 public:
  static constexpr std::chrono::milliseconds kDefaultWait{20'000};

  /// Locks the GPU of the current CUDA context. Throws Error{io_error} that names the GPU if another thread or process
  /// still measures there after `wait`.
  explicit GpuLock(const Driver& driver, std::chrono::milliseconds wait = kDefaultWait);
  /// Locks the GPU with this PCI bus id by a file in the first usable one of `directories`.
  GpuLock(const std::string& bus_id, const std::vector<std::filesystem::path>& directories,
          std::chrono::milliseconds wait);

 private:
  TuningTurn::Clock::time_point deadline_;
  std::shared_ptr<TuningTurn> turn_;  // of the GPU; it lives as long as one of its locks
  TuningTurn::Held thread_;
  LockedDescriptor file_;  // released before the turn: the next thread then finds the file free
};

/// The directories of this node for the locks of GPUs, the preferred one first. They do not depend on the environment,
/// because a job and a login shell must find the same.
std::vector<std::filesystem::path> gpu_lock_directories();

}  // namespace hotgemm
