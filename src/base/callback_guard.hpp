#pragma once

#include <hotgemm/error.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace hotgemm {

/// Calls functions of the user on threads of ours, where an exception would end the process. The first exception is
/// kept and thrown as an Error on the thread that waits for the work; until then no function is called any more.
/// Thread-safe.
class CallbackGuard {
 public:
  /// What `call` returns; `otherwise` if it throws, or if one has thrown before.
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
