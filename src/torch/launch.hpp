#pragma once

#include "torch/ledger.hpp"
#include "torch/matrix.hpp"
#include "torch/tensor.hpp"

#include <cstdint>

namespace hotgemm::torch {

/// The settings that Python has made.
struct Settings {
  std::uint32_t flags;
  std::int32_t order;
  bool serves_f32;
};
Settings settings();

/// The device of a tensor is the current one while this lives: kernels that PyTorch calls boxed have no guard.
class DeviceGuard {
 public:
  explicit DeviceGuard(const Tensor& on);
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  const Backend& backend_;
  struct DeviceGuardObject* guard_ = nullptr;
};

/// `served` if we serve products of this type now.
Outcome admits(const Tensor& operand);

/// Sets sizes, types and addresses of d = a × b. If d is stored transposed, the product is that of the transposes.
/// False if a size is 0.
bool set_matrices(Product& product, hotgemm_type type, const Matrix& a, const Matrix& b, const Matrix& d);

/// Enqueues the product on the current stream of the device of `on`, and counts what came of it.
Outcome launch(Operator op, Product& product, const Tensor& on, std::uint32_t flags);

}  // namespace hotgemm::torch
