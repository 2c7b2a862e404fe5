#pragma once

namespace hotgemm {

/// One compilation by NVRTC, while it runs. At the end of the program NVRTC is taken apart, so exit() cancels those
/// that other threads run, waits for them, and lets none begin.
class Compilation {
 public:
  /// Throws Error{interrupted} at the end of the program.
  Compilation();
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  /// True if it is to be cancelled.
  static bool is_over() noexcept;
};

}  // namespace hotgemm
