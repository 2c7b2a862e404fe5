#include "torch/tensor.hpp"

#include <cstring>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm::torch {

void throw_of_torch(const char* what) {
  // PyTorch 2.13 and later tell the message; earlier ones have printed it.
  const char* message = shim().what != nullptr ? shim().what() : nullptr;
  if (message != nullptr && *message != '\0') throw std::runtime_error(message);
  throw std::runtime_error(std::string(what) + " failed in PyTorch, which has printed the reason");
}

Tensor read(Handle handle) {
  const Functions& torch = shim();
  Tensor tensor{.handle = handle};
  std::int64_t *sizes = nullptr, *strides = nullptr;
  const bool good = torch.get_dim(tensor.handle, &tensor.dim) == 0 && torch.get_sizes(tensor.handle, &sizes) == 0 &&
                    torch.get_strides(tensor.handle, &strides) == 0 &&
                    torch.get_dtype(tensor.handle, &tensor.dtype) == 0 &&
                    torch.get_device_type(tensor.handle, &tensor.device_type) == 0 &&
                    torch.get_device_index(tensor.handle, &tensor.device_index) == 0 &&
                    torch.get_data_ptr(tensor.handle, &tensor.data) == 0;
  if (!good) throw_of_torch("reading an operand of a matrix product");
  tensor.sizes = sizes;
  tensor.strides = strides;
  return tensor;
}

Owned empty_like(const Tensor& like, const std::int64_t* sizes, std::int64_t dim) {
  constexpr std::size_t kFew = 8;  // dimensions; more of them are allocated
  const auto count = static_cast<std::size_t>(dim);
  std::array<std::int64_t, kFew> few;
  std::vector<std::int64_t> many(count > kFew ? count : 0);
  std::int64_t* strides = count > kFew ? many.data() : few.data();
  std::int64_t stride = 1;
  for (std::int64_t i = dim - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= sizes[i] > 0 ? sizes[i] : 1;
  }
  Handle made = nullptr;
  if (shim().empty_strided(dim, sizes, strides, like.dtype, like.device_type, like.device_index, &made) != 0) {
    throw_of_torch("allocating the result of a matrix product");
  }
  return Owned(made);
}

std::optional<hotgemm_type> element_of(std::int32_t dtype) {
  static const std::int32_t f16 = shim().type_f16(), bf16 = shim().type_bf16(), f32 = shim().type_f32();
  if (dtype == bf16) return HOTGEMM_BF16;
  if (dtype == f16) return HOTGEMM_F16;
  if (dtype == f32) return HOTGEMM_F32;
  return std::nullopt;
}

bool same_device(const Tensor& a, const Tensor& b) {
  return a.device_type == b.device_type && a.device_index == b.device_index;
}

double scalar_of(Slot slot) {
  double value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}

}  // namespace hotgemm::torch
