#pragma once

#include <string>

namespace hotgemm {

/// A range of the calling thread on the time line of a profiler, from construction to destruction, in NVTX's domain
/// "hotgemm". Without a profiler it costs one load.
///
/// A profiler names its library in NVTX_INJECTION64_PATH, as Nsight Systems and Nsight Compute do. The first range
/// loads the library, as the header-only NVTX does. A library that cannot be loaded means that there is no profiler.
class ProfilerRange {
 public:
  /// `name` returns the text of the range; it is called only if there is a profiler.
  template <class Name>
  explicit ProfilerRange(Name&& name) : is_open_(has_profiler()) {
    if (is_open_) push(name());
  }
  ~ProfilerRange() {
    if (is_open_) pop();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  static bool has_profiler() noexcept;
  static void push(const std::string& text) noexcept;
  static void pop() noexcept;

  bool is_open_;
};

}  // namespace hotgemm
