#pragma once

#include <hotgemm/error.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace hotgemm {

/// Calls functions of the user on the library's threads, where an exception would end the process. The guard keeps the
/// first exception, and `rethrow` throws it on the thread that waits for the work. After an exception no function is
/// called any more. Thread-safe.
class CallbackGuard {
 public:
  /// Returns the result of `call`; returns `otherwise` if `call` throws, or if an earlier call has thrown.
  template <class Result, class Call>
  Result run(Result otherwise, Call&& call) noexcept {
    if (has_failed_) return otherwise;
    try {
      return std::forward<Call>(call)();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
      has_failed_ = true;
    }
    return otherwise;
  }
  /// Once true, the work should end.
  bool has_failed() const noexcept { return has_failed_; }

  /// Does nothing if nothing was thrown. Throws an Error as it is, and Error{interrupted} for anything else.
  void rethrow() const {
    if (!has_failed_) return;
    const std::lock_guard lock(mutex_);
    try {
      std::rethrow_exception(first_);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ErrorCode::interrupted, std::string("a callback threw: ") + error.what());
    } catch (...) {
      throw Error(ErrorCode::interrupted, "a callback threw something that is not a std::exception");
    }
  }

 private:
  std::atomic<bool> has_failed_{false};
  mutable std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace hotgemm
