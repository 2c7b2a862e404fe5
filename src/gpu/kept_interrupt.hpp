#pragma once

#include <signal.h>

namespace hotgemm {

/// Keeps the program's action for SIGINT while NVRTC compiles. NVRTC sets one of its own and takes it back at the end,
/// but two compilations at a time leave it there for ever, and flags and mask are lost. Its action is known by its
/// address: a program may set another one meanwhile, and that stays.
///
/// As long as one object lives, there may be others.
class KeptInterrupt {
 public:
  /// `library` is the address of a function of NVRTC.
  explicit KeptInterrupt(const void* library);
  ~KeptInterrupt();
  KeptInterrupt(const KeptInterrupt&) = delete;
  KeptInterrupt& operator=(const KeptInterrupt&) = delete;

  /// Puts the program's action back if that of NVRTC stands there.
  void mend() const noexcept;

 private:
  const void* library_;
};

}  // namespace hotgemm
