#include "base/exit_handlers.hpp"

#include "base/fork_guard.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

struct ExitHandlers {
  std::mutex mutex;  // guards the other members
  std::vector<void (*)()> functions;
  bool have_run = false;

  static ExitHandlers& instance() {
    static auto* all = new ExitHandlers;  // never freed: used while the program ends
    return *all;
  }
  static void run() {
    if (has_lost_cuda()) return;  // its threads are those of the parent, and one of these may have held the mutex
    std::vector<void (*)()> functions;
    {
      const std::lock_guard lock(instance().mutex);
      functions = instance().functions;
      instance().have_run = true;
    }
    for (void (*function)() : functions) function();
  }
};

/// Calls the handlers after all that was registered since this library was opened. Later ones then run at once.
const struct EndOfStaticObjects {
  EndOfStaticObjects() = default;
  ~EndOfStaticObjects() { ExitHandlers::run(); }
} end_of_static_objects;

/// The main thread's, which is destroyed when this thread calls exit() or returns from main.
struct EndOfMainThread {
  bool is_known = false;  // whether this is the main thread
  bool is_watched = false;
  ~EndOfMainThread() {
    if (is_watched) ExitHandlers::run();
  }
};
thread_local EndOfMainThread end_of_main_thread;

}  // namespace

void watch_main_thread() {
  EndOfMainThread& end = end_of_main_thread;
  if (std::exchange(end.is_known, true)) return;  // without a system call: calls that decline come here
  end.is_watched = ::syscall(SYS_gettid) == ::getpid();
}

void add_exit_handler(void (*function)()) {
  bool is_late = false;
  {
    const ForkDelay delay;  // so that no child inherits the locked mutex
    const std::lock_guard lock(ExitHandlers::instance().mutex);
    ExitHandlers::instance().functions.push_back(function);
    is_late = ExitHandlers::instance().have_run;
  }
  if (is_late) function();
  std::atexit(ExitHandlers::run);
}

void renew_exit_handlers() {
  {
    const std::lock_guard lock(ExitHandlers::instance().mutex);
    if (ExitHandlers::instance().functions.empty()) return;
  }
  std::atexit(ExitHandlers::run);
}

}  // namespace hotgemm
