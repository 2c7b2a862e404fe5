#include "gpu/nvrtc_use.hpp"

#include "base/exit_handlers.hpp"
#include "base/fork_guard.hpp"

#include <hotgemm/error.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hotgemm {
namespace {

/// The uses of this process.
class Running {
 public:
  static Running& instance() {
    static auto* all = new Running;  // never freed: used while the program ends
    return *all;
  }

  void begin() {
    std::call_once(watch_, [] {
      watch_for_fork();
      add_exit_handler([] { instance().end(); });
    });
    const std::lock_guard lock(mutex_);
    if (is_over_) throw Error(ErrorCode::interrupted, "NVRTC is not used at the end of the program");
    ++count_;
    ++count_of_thread_;
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    --count_;
    --count_of_thread_;
    finished_.notify_all();
  }
  bool is_over() const noexcept { return is_over_; }

 private:
  /// Waits once, and for a limited time: nothing is worth a program that never ends.
  void end() {
    constexpr std::chrono::seconds kMostWait{10};  // a kernel compiles in 1.2 s, on an idle machine
    if (is_forked_child()) return;                 // the threads that use NVRTC are those of the parent
    std::unique_lock lock(mutex_);
    if (is_over_.exchange(true)) return;
    finished_.wait_for(lock, kMostWait, [this] { return count_ == count_of_thread_; });
  }

  std::mutex mutex_;
  std::condition_variable finished_;
  int count_ = 0;
  std::atomic<bool> is_over_{false};
  std::once_flag watch_;
  static thread_local int count_of_thread_;  // exit() may be called within a use, by a handler of a signal
};
thread_local int Running::count_of_thread_ = 0;

}  // namespace

NvrtcUse::NvrtcUse() { Running::instance().begin(); }
NvrtcUse::~NvrtcUse() { Running::instance().finish(); }
bool NvrtcUse::is_over() noexcept { return Running::instance().is_over(); }

}  // namespace hotgemm
