#pragma once

#include <cstddef>

namespace hotgemm {

namespace detail {
struct AnyValue {
  template <class T>
  constexpr operator T() const {
    return {};
  }
};
}  // namespace detail

/// The number of members of an aggregate without bases: the most values that can initialise it. An assertion on it
/// reminds whoever adds a member of a place that the compiler would not name.
template <class Aggregate, class... Values>
consteval std::size_t member_count() {
  if constexpr (requires { Aggregate{Values{}..., detail::AnyValue{}}; }) {
    return member_count<Aggregate, Values..., detail::AnyValue>();
  } else {
    return sizeof...(Values);
  }
}

}  // namespace hotgemm
