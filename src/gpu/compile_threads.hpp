#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

namespace hotgemm {

/// The threads that help the callers to compile: one pool for all calls, so that each further call at once keeps only
/// its own thread busy. They run at low priority, exist only while there is work, and are detached. Thread-safe.
class CompileThreads {
 public:
  /// The pool of this process. A child of fork() gets its own.
  static CompileThreads& of_process();

  CompileThreads() = default;
  CompileThreads(const CompileThreads&) = delete;
  CompileThreads& operator=(const CompileThreads&) = delete;

  /// Runs `work` on the calling thread, at its own priority, and beside it on up to `helpers` threads of the pool, as
  /// far as these are free before the calling thread has finished. Returns when all have finished. The pool has as many
  /// threads as default_compile_jobs() says, or as `helpers` if a call asks for more. `work` must not throw.
  void run(std::size_t helpers, const std::function<void()>& work);

 private:
  struct Offer {
    const std::function<void()>* work;
    std::size_t open;  // threads that may still begin
    std::size_t running = 0;
  };

  void start_threads(std::size_t count);
  void serve();
  Offer* next_offer();

  std::mutex mutex_;  // guards the members below
  std::condition_variable finished_;
  std::list<Offer*> offers_;
  std::size_t threads_ = 0;
  std::size_t most_threads_ = 0;
};

}  // namespace hotgemm
