// hotgemm.matmul(a, b, out) of PyTorch's tensors with no further argument.
//
// To read a tensor by its attributes in Python takes longer than to enqueue the product. Here the tensors are read by
// DLPack's exchange interface (dlpack.h, from version 1.3 on), whose functions PyTorch's own type names. Python calls
// this as a builtin function, which costs less than a call through ctypes. All that is not plain, errors too, is left
// to Python.

#include "torch/export.hpp"
#include "torch/launch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

namespace hotgemm::torch {
namespace {

/// A tensor, as DLPack lays it out.
struct DLTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_index;
  std::int32_t dim;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  const std::int64_t* sizes;
  const std::int64_t* strides;
  std::uint64_t byte_offset;
};

constexpr std::int32_t kLeftToPython = -1;

std::optional<hotgemm_type> element_of(const DLTensor& tensor) {
  constexpr std::uint8_t kFloat = 2, kBfloat = 4;
  if (tensor.lanes != 1) return std::nullopt;
  if (tensor.code == kFloat && tensor.bits == 16) return HOTGEMM_F16;
  if (tensor.code == kBfloat && tensor.bits == 16) return HOTGEMM_BF16;
  if (tensor.code == kFloat && tensor.bits == 32) return HOTGEMM_F32;
  return std::nullopt;
}

bool is_alike(const DLTensor& a, const DLTensor& b) {
  return a.device_type == b.device_type && a.device_index == b.device_index && a.code == b.code && a.bits == b.bits;
}

std::optional<Matrix> matrix_of(const DLTensor& tensor) {
  if (tensor.dim != 2 || tensor.strides == nullptr) return std::nullopt;
  return matrix_of(Tensor{.dim = 2,
                          .sizes = tensor.sizes,
                          .strides = tensor.strides,
                          .data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset});
}

/// The product, if the three are matrices of one type on one device, and their sizes fit.
std::optional<Product> product_of(const DLTensor& a, const DLTensor& b, const DLTensor& out) {
  const auto type = element_of(a);
  if (!type || !is_alike(a, b) || !is_alike(a, out)) return std::nullopt;
  const auto ma = matrix_of(a), mb = matrix_of(b), md = matrix_of(out);
  if (!ma || !mb || !md) return std::nullopt;
  if (ma->cols != mb->rows || ma->rows != md->rows || mb->cols != md->cols) return std::nullopt;
  Product product;
  if (!set_matrices(product, *type, *ma, *mb, *md)) return std::nullopt;
  product.problem.order = HOTGEMM_ORDER_ANY;  // what enable() has configured is for overrides
  product.device = a.device_index;
  return product;
}

/// The stream on which the device's work of this thread goes; nothing if another device is current.
std::optional<hotgemm_stream> stream_of(const hotgemm_torch_direct& with, std::int32_t device) {
  if (with.current_stream == nullptr) return nullptr;
  std::int32_t current = -1;
  if (with.current_device(&current) != 0 || current != device) return std::nullopt;
  void* stream = nullptr;
  if (with.current_stream(device, &stream) != 0) return std::nullopt;
  return static_cast<hotgemm_stream>(stream);
}

/// True unless `value` is False; gives the reference back.
bool is_true(const hotgemm_torch_direct& with, void* value) {
  if (value == nullptr) return true;  // an error
  with.drop_reference(value);         // True and False outlive it
  return value != with.false_object;
}

/// True if autograd would have to know of the product.
bool needs_gradient(const hotgemm_torch_direct& with, std::span<void* const> tensors) {
  return with.grad_mode_is_enabled() && std::ranges::any_of(tensors, [&](void* tensor) {
           return is_true(with, with.get_attribute(tensor, with.requires_grad));
         });
}

/// True if a tensor is a view that negates: DLPack's interface does not tell it.
bool has_negative(const hotgemm_torch_direct& with, std::span<void* const> tensors) {
  return std::ranges::any_of(
      tensors, [&](void* const& tensor) { return is_true(with, with.call_method(with.is_neg, &tensor, 1, nullptr)); });
}

/// The three tensors; nothing if one has no strides, for instance.
std::optional<std::array<DLTensor, 3>> read(const hotgemm_torch_direct& with, std::span<void* const, 3> objects) {
  std::array<DLTensor, 3> tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (with.read(objects[i], &tensors[i]) != 0) return std::nullopt;
  }
  return tensors;
}

/// A hotgemm_status, or kLeftToPython.
std::int32_t multiply(const hotgemm_torch_direct& with, std::span<void* const, 3> objects) {
  if (with.context == nullptr || needs_gradient(with, objects) || has_negative(with, objects)) return kLeftToPython;
  const auto tensors = read(with, objects);
  if (!tensors) return kLeftToPython;
  const auto& [a, b, out] = *tensors;
  if (a.device_type != with.device_type) return kLeftToPython;
  const auto product = product_of(a, b, out);
  if (!product) return kLeftToPython;
  const auto stream = stream_of(with, product->device);
  if (!stream) return kLeftToPython;
  hotgemm_call call = HOTGEMM_CALL_INIT;
  call.device = product->device;
  void* const thread = with.save_thread();  // a first call compiles, and messages take the GIL
  const hotgemm_status status = with.gemm(with.context, &product->problem, &product->operands, *stream, &call);
  with.restore_thread(thread);
  return status;
}

std::atomic<const hotgemm_torch_direct*> direct{nullptr};

}  // namespace
}  // namespace hotgemm::torch

using namespace hotgemm::torch;

void hotgemm_torch_bind_direct(const hotgemm_torch_direct* with) { direct = with; }

void* hotgemm_torch_matmul(void*, void* const* arguments, std::ptrdiff_t count) {
  const hotgemm_torch_direct& with = *direct.load();
  const std::int32_t status = count == 3 ? multiply(with, std::span<void* const, 3>(arguments, 3)) : kLeftToPython;
  if (status == kLeftToPython) with.clear_error();  // Python meets it again
  return with.int_from_long(status);
}
