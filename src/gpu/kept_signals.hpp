#pragma once

#include <thread>

namespace hotgemm {

/// Keeps the program's actions for SIGINT and SIGTERM while NVRTC compiles. NVRTC sets its own, which end the program,
/// and takes them back at the end; but two compilations at a time leave them there for ever, and flags and mask are
/// lost. Its actions are known by their addresses: a program may set others meanwhile, and these stay.
///
/// NVRTC asks its callback for the first time when it has read the source, tens of milliseconds after it has set its
/// actions. Until then a thread puts the program's back.
///
/// As long as one object lives, there may be others.
class KeptSignals {
 public:
  /// `library` is the address of a function of NVRTC.
  explicit KeptSignals(const void* library);
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

  /// Puts the program's actions back where NVRTC's stand.
  void mend() const noexcept;
  /// Ends the thread: from now on the callback mends.
  void end_watch() noexcept { watch_.request_stop(); }

 private:
  const void* library_;
  std::jthread watch_;
};

}  // namespace hotgemm
