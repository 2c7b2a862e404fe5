#pragma once

#include <hotgemm/hotgemm.h>
#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace hotgemm::c {

/// The size of a struct of the interface in the first version that had it. It never changes; sizeof grows.
template <class T>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_problem> = 144;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_call> = 32;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_plan_facts> = 64;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_tune_options> = 72;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_prewarm_options> = 56;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_prewarm_report> = 48;
template <>
inline constexpr std::size_t kFirstSize<hotgemm_stats> = 152;

template <class T>
void require_size(const T& given, const char* name) {
  static_assert(kFirstSize<T> != 0 && kFirstSize<T> <= sizeof(T));
  if (given.size >= kFirstSize<T>) return;
  throw Error(ErrorCode::invalid_argument, std::string(name) + ".size is " + std::to_string(given.size) +
                                               "; begin with its HOTGEMM_…_INIT, which has " +
                                               std::to_string(sizeof(T)));
}

/// `given`, with the fields of `defaults` where the caller's version has none. Throws Error{not_supported} if a field
/// that this library does not know is not zero.
template <class T>
T known(const T& given, const T& defaults, const char* name) {
  if (given.size == sizeof(T)) return given;
  require_size(given, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + given.size, [](auto b) { return b != 0; })) {
    throw Error(ErrorCode::not_supported, std::string(name) + " has a field beyond byte " + std::to_string(sizeof(T)) +
                                              " that is set: it is of a newer version than the library, " +
                                              HOTGEMM_VERSION);
  }
  T result = defaults;
  std::memcpy(&result, &given, std::min(given.size, sizeof(T)));
  result.size = sizeof(T);
  return result;
}

/// Fills the part of `out` that the caller has room for. Its size stays.
template <class T>
void give(T& out, const T& filled, const char* name) {
  require_size(out, name);
  const std::size_t size = out.size;
  std::memcpy(&out, &filled, std::min(size, sizeof(T)));
  out.size = size;
}

}  // namespace hotgemm::c
