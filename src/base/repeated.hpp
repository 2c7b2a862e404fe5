#pragma once

#include <signal.h>

#include <chrono>
#include <exception>
#include <stop_token>
#include <thread>

namespace hotgemm {

/// A thread that calls `work` once per `period` until it is stopped. It takes no signal of the program. If the system
/// has no thread left, there is none, and `work` is not called.
template <class Work>
std::jthread repeated(std::chrono::microseconds period, const Work& work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread;
  try {
    thread = std::jthread([work, period](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(period)) work();
    });
  } catch (const std::exception&) {  // of threads, or of memory
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace hotgemm
