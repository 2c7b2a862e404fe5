#include "runtime/gpu_lock.hpp"

#include "base/log.hpp"
#include "cache/cache_directory.hpp"
#include "gpu/nvml.hpp"

#include <hotgemm/error.hpp>

#include <unistd.h>

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace hotgemm {
namespace {

constexpr DirectoryRules kOursAlone{.writable = true, .trust_shared = false};

std::string bus_id_of_current(const Driver& driver) {
  CUdevice device = 0;
  driver.check(driver.cuCtxGetDevice(&device), "read the current context's GPU");
  return bus_id(driver, device);
}

/// The turn of a GPU, the same for all contexts of this process.
std::shared_ptr<TuningTurn> turn_of(const std::string& bus_id) {
  static std::mutex mutex;
  static auto& of_gpus = *new std::map<std::string, std::weak_ptr<TuningTurn>>;  // threads may outlive main
  const std::lock_guard guard(mutex);
  std::weak_ptr<TuningTurn>& place = of_gpus[bus_id];
  std::shared_ptr<TuningTurn> found = place.lock();
  if (!found) place = found = std::make_shared<TuningTurn>();
  return found;
}

[[noreturn]] void fail_busy(const std::string& bus_id, const char* holder, std::chrono::milliseconds wait) {
  throw Error(ErrorCode::io_error, "GPU " + bus_id + " is still being measured by " + holder + " after " +
                                       std::to_string(wait.count()) + " ms; two measurements would disturb each other");
}

/// The lock file in the first usable directory; nothing if there is none, or if it cannot be made.
LockedDescriptor open_lock_file(const std::string& name, const std::vector<std::filesystem::path>& directories) {
  for (const std::filesystem::path& path : directories) {
    try {
      const auto directory = CacheDirectory::open(path, kOursAlone, true);
      return LockedDescriptor::open([&] { return directory->open_lock_file(name); });
    } catch (const std::runtime_error& error) {
      log(LogLevel::debug, std::string("GPU locks: ") + error.what());
    }
  }
  return {};
}

}  // namespace

GpuLock::GpuLock(const Driver& driver, std::chrono::milliseconds wait)
    : GpuLock(bus_id_of_current(driver), gpu_lock_directories(), wait) {}

GpuLock::GpuLock(const std::string& bus_id, const std::vector<std::filesystem::path>& directories,
                 std::chrono::milliseconds wait)
    : deadline_(deadline_after(wait)), turn_(turn_of(bus_id)), thread_(*turn_, deadline_) {
  if (!thread_) fail_busy(bus_id, "another thread", wait);
  file_ = open_lock_file("gpu-" + bus_id + ".lock", directories);
  if (!file_) return;
  switch (lock_until(file_.get(), try_flock, deadline_)) {
    case LockAttempt::locked: return;
    case LockAttempt::busy: fail_busy(bus_id, "another process", wait);
    case LockAttempt::impossible:
      log(LogLevel::debug, "GPU locks: " + directories.front().string() + " is on a file system without locks");
  }
}

std::vector<std::filesystem::path> gpu_lock_directories() {
  const std::string name = "hotgemm-" + std::to_string(::geteuid());
  return {"/dev/shm/" + name, "/tmp/" + name};
}

}  // namespace hotgemm
