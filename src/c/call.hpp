#pragma once

#include "c/sized.hpp"
#include "gpu/current_context.hpp"

#include <hotgemm/hotgemm.h>

#include <optional>

namespace hotgemm::c {

/// What a caller says about a call, and the device that it names: the primary context of that is current, if the thread
/// has none, as long as this object lives.
class Call {
 public:
  /// `given` may be null. Throws Error{invalid_argument, not_supported} that name the field.
  explicit Call(const hotgemm_call* given);

  std::uint32_t flags() const { return call_.flags; }

 private:
  hotgemm_call call_ = HOTGEMM_CALL_INIT;
  std::optional<PushedContext> pushed_;
};

}  // namespace hotgemm::c
