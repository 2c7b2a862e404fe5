#pragma once

namespace hotgemm {

/// A use of NVRTC by a thread: it opens NVRTC, or compiles. At the end of the program NVRTC is taken apart, so exit()
/// cancels the compilations of other threads, waits for their uses, and lets none begin.
class NvrtcUse {
 public:
  /// Throws Error{interrupted} at the end of the program.
  NvrtcUse();
  ~NvrtcUse();
  NvrtcUse(const NvrtcUse&) = delete;
  NvrtcUse& operator=(const NvrtcUse&) = delete;

  /// True if compilations are to be cancelled.
  static bool is_over() noexcept;
};

}  // namespace hotgemm
