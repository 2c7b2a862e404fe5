#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hotgemm {

/// The kind of an error, for programs. Error::what() describes the error for people.
enum class ErrorCode {
  invalid_argument,  ///< an argument that no call may have; the message names it
  not_supported,     ///< a legal problem that no kernel computes on this GPU
  not_prepared,      ///< Policy::cached_only, and no kernel in the cache
  no_driver,         ///< libcuda cannot be loaded or initialised
  no_device,         ///< no GPU, or no current context
  no_compiler,       ///< libnvrtc cannot be loaded
  compile_failed,    ///< NVRTC rejected a kernel; the message holds its log
  driver_error,      ///< a driver call failed; the message names the call and its result
  out_of_memory,     ///< device memory
  context_lost,      ///< an earlier error has made the CUDA context unusable; the process must end
  wrong_result,      ///< no candidate passed the correctness check
  io_error,          ///< a required file or directory cannot be used
  forked,            ///< called in a child of fork(); CUDA does not survive that
  interrupted,       ///< stopped on request, or by a callback that threw
  internal,          ///< a bug in hotgemm
};

/// "invalid_argument", …
std::string_view to_string(ErrorCode code);

/// The exception that every function of the library throws. what() names the attempt, the config and the result.
class Error : public std::runtime_error {
 public:
  /// An error with this code and what().
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }  ///< what went wrong

 private:
  ErrorCode code_;
};

}  // namespace hotgemm
