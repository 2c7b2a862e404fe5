#pragma once

#include "base/exit_handlers.hpp"
#include "base/fork_guard.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace hotgemm {

/// The objects of type `Owner` that have a thread. When the program ends, `stop` is called for each of them, so that
/// their threads end before the objects that these use. `stop` ends the thread and removes its object from here.
template <class Owner>
class LiveThreads {
 public:
  static LiveThreads& instance() {
    static auto* all = new LiveThreads;  // never freed: used while the program ends
    return *all;
  }
  /// Adds an object that is about to start its thread. False if the program ends: it starts none.
  bool add(Owner* owner) {
    std::call_once(watch_, [] { add_exit_handler([] { instance().stop_all(); }); });
    const std::lock_guard lock(mutex_);
    if (is_over_) return false;
    owners_.insert(owner);
    return true;
  }
  /// Returns when the end of the program no longer uses `owner`, which may then be destroyed.
  void remove(Owner* owner) {
    std::unique_lock lock(mutex_);
    owners_.erase(owner);
    if (ending_ != std::this_thread::get_id()) changed_.wait(lock, [&] { return stopped_ != owner; });
  }

 private:
  void stop_all() {
    if (has_lost_cuda()) return;  // the threads are those of the parent
    for (;;) {
      Owner* owner = nullptr;
      {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        stopped_ = nullptr;
        changed_.notify_all();
        if (owners_.empty()) return;
        owner = stopped_ = *owners_.begin();
        ending_ = std::this_thread::get_id();
      }
      owner->stop();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Owner* stopped_ = nullptr;  ///< by the thread `ending_`, which ends the program
  std::thread::id ending_;
  bool is_over_ = false;
  std::set<Owner*> owners_;
  std::once_flag watch_;
};

}  // namespace hotgemm
