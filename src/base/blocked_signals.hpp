#pragma once

#include <signal.h>

namespace hotgemm {

/// Blocks the signals of the program in the calling thread as long as it lives. A thread that is made meanwhile never
/// takes one: a program that waits for a signal in a thread of its own must not lose it to a thread of the library.
/// The signals of a thread's own faults are not blocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace hotgemm
