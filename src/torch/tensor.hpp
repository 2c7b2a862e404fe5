#pragma once

#include "torch/shim.hpp"

#include <optional>
#include <utility>

namespace hotgemm::torch {

/// Owns a handle.
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  explicit Owned(Slot slot) : handle_(reinterpret_cast<Handle>(slot)) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (handle_ != nullptr) shim().delete_tensor(handle_);
  }

  Handle get() const { return handle_; }
  /// Gives the reference away as a place of a stack.
  Slot release() { return reinterpret_cast<Slot>(std::exchange(handle_, nullptr)); }

 private:
  Handle handle_ = nullptr;
};

/// The properties of a tensor that a kernel asks for, read once. Sizes and strides belong to the tensor.
struct Tensor {
  Handle handle;
  std::int64_t dim;
  const std::int64_t* sizes;
  const std::int64_t* strides;
  std::int32_t dtype;
  std::int32_t device_type;
  std::int32_t device_index;
  void* data;
};

Tensor read(Handle handle);
inline Tensor read(const Owned& owned) { return read(owned.get()); }
/// A new tensor with packed rows, of the type and on the device of `like`.
Owned empty_like(const Tensor& like, const std::int64_t* sizes, std::int64_t dim);
/// The element type; nothing if overrides serve no such type.
std::optional<hotgemm_type> element_of(std::int32_t dtype);
constexpr std::int64_t element_bytes(hotgemm_type type) { return type == HOTGEMM_F32 ? 4 : 2; }
bool same_device(const Tensor& a, const Tensor& b);

/// The number in a place of a stack, which PyTorch stores as a double.
double scalar_of(Slot slot);

/// Throws what becomes a RuntimeError: `what` failed in PyTorch.
[[noreturn]] void throw_of_torch(const char* what);

}  // namespace hotgemm::torch
