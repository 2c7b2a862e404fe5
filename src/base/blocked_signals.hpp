#pragma once

#include <signal.h>

namespace hotgemm {

/// While it lives, the calling thread takes no signal of the program, and neither does a thread that is made meanwhile,
/// ever: a program that waits for a signal in one of its threads must not lose it to a thread of the library. Signals
/// of a thread's own faults stay as they are.
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
