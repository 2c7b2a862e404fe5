#pragma once

#include <hotgemm/hotgemm.h>
#include <hotgemm/error.hpp>

#include <cxxabi.h>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace hotgemm::c {

constexpr hotgemm_status status_of(ErrorCode code) { return static_cast<hotgemm_status>(code) + 1; }

/// Keeps `message` as the last error of the thread, and writes it where `call` asks for it. Returns `status`.
hotgemm_status fail(const hotgemm_call* call, hotgemm_status status, std::string_view message) noexcept;

/// The body of every function of the interface: no exception leaves it. `body` returns a status. `call` may be null.
///
/// The cancellation of a thread passes: glibc ends a process that swallows it.
template <class Body>
hotgemm_status guarded(const hotgemm_call* call, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    return fail(call, status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(call, HOTGEMM_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    return fail(call, HOTGEMM_INTERNAL, error.what());
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return fail(call, HOTGEMM_INTERNAL, "an exception of an unknown type");
  }
}

/// The status of a body that returns nothing, and so succeeds if it does not throw.
template <class Body>
hotgemm_status done(const hotgemm_call* call, Body&& body) {
  return guarded(call, [&] {
    std::forward<Body>(body)();
    return hotgemm_status{HOTGEMM_SUCCESS};
  });
}

/// Throws Error{invalid_argument} that names the pointer if it is null.
template <class T>
T& required(T* pointer, const char* name) {
  if (pointer != nullptr) return *pointer;
  throw Error(ErrorCode::invalid_argument, std::string(name) + " is null");
}

}  // namespace hotgemm::c
