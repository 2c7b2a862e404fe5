#pragma once

#include "base/blocked_signals.hpp"

#include <chrono>
#include <exception>
#include <stop_token>
#include <thread>

namespace hotgemm {

/// A thread that calls `work` once per `period` until it is stopped. It takes no signal of the program. If the system
/// has no thread left, there is none, and `work` is not called.
template <class Work>
std::jthread repeated(std::chrono::microseconds period, const Work& work) {
  const BlockedSignals blocked;
  try {
    return std::jthread([work, period](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(period)) work();
    });
  } catch (const std::exception&) {  // of threads, or of memory
    return {};
  }
}

}  // namespace hotgemm
