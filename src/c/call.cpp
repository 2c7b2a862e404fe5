#include "c/call.hpp"

#include "base/fork_guard.hpp"
#include "gpu/driver.hpp"

namespace hotgemm::c {

Call::Call(const hotgemm_call* given) {
  if (given == nullptr) return;
  call_ = known(*given, HOTGEMM_CALL_INIT, "call");
  constexpr std::uint32_t kDemands = HOTGEMM_IF_PREPARED | HOTGEMM_IF_TUNED | HOTGEMM_IF_AS_FAST;
  if ((call_.flags & ~(kDemands | HOTGEMM_PREPARE_LATER)) != 0) {
    throw Error(ErrorCode::not_supported, "call.flags is " + std::to_string(call_.flags) +
                                              ", of which the library knows " +
                                              std::to_string(call_.flags & (kDemands | HOTGEMM_PREPARE_LATER)));
  }
  if (call_.flags == HOTGEMM_PREPARE_LATER) {
    throw Error(ErrorCode::invalid_argument,
                "call.flags has HOTGEMM_PREPARE_LATER alone; a call that does not decline prepares at once");
  }
  if (call_.device < -1) {
    throw Error(ErrorCode::invalid_argument,
                "call.device is " + std::to_string(call_.device) + "; it is an ordinal, or -1");
  }
  if (call_.device == -1) return;
  if (has_lost_cuda()) throw Error(ErrorCode::forked, "CUDA cannot be used in a child of fork()");
  pushed_.emplace(Driver::get());
  pushed_->push_primary_if_none(call_.device);
}

}  // namespace hotgemm::c
