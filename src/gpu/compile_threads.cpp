#include "gpu/compile_threads.hpp"

#include "base/blocked_signals.hpp"
#include "base/thread_priority.hpp"
#include "gpu/kernel_builder.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace hotgemm {
namespace {

/// The pool with the process that made it. The threads of a parent do not exist in its child.
struct OwnedThreads {
  CompileThreads threads;
  pid_t owner = ::getpid();
};

std::atomic<OwnedThreads*> pool{nullptr};  // never freed: threads may serve it until the process ends

}  // namespace

CompileThreads& CompileThreads::of_process() {
  OwnedThreads* known = pool.load(std::memory_order_acquire);
  while (known == nullptr || known->owner != ::getpid()) {
    auto* made = new OwnedThreads;
    if (pool.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made->threads;
    delete made;
  }
  return known->threads;
}

void CompileThreads::run(std::size_t helpers, const std::function<void()>& work) {
  Offer offer{&work, helpers};
  if (helpers > 0) {
    const std::lock_guard lock(mutex_);
    most_threads_ = std::max({most_threads_, helpers, static_cast<std::size_t>(default_compile_jobs())});
    offers_.push_back(&offer);
    start_threads(helpers);
  }
  work();
  if (helpers == 0) return;
  std::unique_lock lock(mutex_);
  offer.open = 0;
  finished_.wait(lock, [&] { return offer.running == 0; });
  offers_.remove(&offer);
}

void CompileThreads::start_threads(std::size_t count) {
  const BlockedSignals blocked;
  for (std::size_t i = 0; i < count && threads_ < most_threads_; ++i) {
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      return;  // the system has no more threads: those that exist do the work
    }
    ++threads_;
  }
}

void CompileThreads::serve() {
  lower_thread_priority();
  std::unique_lock lock(mutex_);
  while (Offer* offer = next_offer()) {
    --offer->open;
    ++offer->running;
    lock.unlock();
    (*offer->work)();
    lock.lock();
    --offer->running;
    finished_.notify_all();
  }
  --threads_;
}

/// The offer that has had the fewest threads, so that calls share the pool.
CompileThreads::Offer* CompileThreads::next_offer() {
  Offer* best = nullptr;
  for (Offer* offer : offers_) {
    if (offer->open > 0 && (best == nullptr || offer->running < best->running)) best = offer;
  }
  return best;
}

}  // namespace hotgemm
