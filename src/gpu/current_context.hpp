#pragma once

#include "gpu/driver.hpp"

namespace hotgemm {

/// The id of the current CUDA context, which no other context of this process ever has. Throws Error{no_device} if
/// there is none.
unsigned long long current_context_id(const Driver& driver);

/// True if `id` is that of the primary context of `device`. The context must be current.
bool is_primary_context(const Driver& driver, CUdevice device, unsigned long long id) noexcept;

/// A place for a CUDA context that is current until this object ends; then the caller's is current again. Empty at
/// first. Must end on the thread that made it.
class PushedContext {
 public:
  explicit PushedContext(const Driver& driver) noexcept : driver_(driver) {}
  ~PushedContext() {
    if (is_pushed_) pop();
  }
  PushedContext(const PushedContext&) = delete;
  PushedContext& operator=(const PushedContext&) = delete;

  /// Makes the context of `stream` current, if the thread has none. Throws Error{no_device} for the default streams,
  /// which belong to no context by themselves, and driver errors.
  void push_context_if_none(CUstream stream);
  /// Makes the primary context of the device with this ordinal current, if the thread has none. The library keeps the
  /// context from then on, as the CUDA runtime does. Throws Error{no_device} if there is no such device.
  void push_primary_if_none(int ordinal);

 private:
  void push_context_of(CUstream stream);
  void pop() noexcept;

  const Driver& driver_;
  bool is_pushed_ = false;
};

/// The CUDA context with the given id, current for the life of this object if that is possible: if it is current
/// already, or the primary context of `device` and alive. Asking about any other context is not safe: its handle may
/// belong to none, or to another one. The caller's context is current again afterwards.
class ContextOfId {
 public:
  ContextOfId(const Driver& driver, CUdevice device, unsigned long long id) noexcept;
  ~ContextOfId();
  ContextOfId(const ContextOfId&) = delete;
  ContextOfId& operator=(const ContextOfId&) = delete;

  bool is_current() const { return is_current_; }

 private:
  const Driver& driver_;
  CUdevice device_;
  bool is_current_ = false;
  bool is_retained_ = false;
};

}  // namespace hotgemm
