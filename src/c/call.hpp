#pragma once

#include "c/sized.hpp"
#include "gpu/current_context.hpp"

#include <hotgemm/hotgemm.h>

#include <cstdint>
#include <optional>

namespace hotgemm::c {

/// The options of one call. If they name a device and the thread has no current CUDA context, this object makes the
/// device's primary context current as long as it lives.
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
