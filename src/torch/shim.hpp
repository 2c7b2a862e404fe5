#pragma once

#include <hotgemm/hotgemm.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The functions of PyTorch and of libhotgemm that the adapter calls. It includes no header of PyTorch and links
// neither: Python looks the functions up in the libraries that its process has loaded, and binds them here by their
// place in the lists. So one build serves every PyTorch from 2.10 on.

namespace hotgemm::torch {

/// A reference to a tensor, as PyTorch's C shim has it (AtenTensorHandle).
using Handle = struct TensorObject*;
/// 0 for success.
using Result = std::int32_t;
/// A place of a boxed kernel's stack (StableIValue): a handle, a number, or the address of one that is optional.
using Slot = std::uint64_t;

// Each line: member, symbol, type. A symbol behind a question mark may be missing.
#define HOTGEMM_TORCH_FUNCTIONS(X)                                                                                     \
  X(context_default, "hotgemm_context_default", decltype(hotgemm_context_default))                                     \
  X(gemm, "hotgemm_gemm", decltype(hotgemm_gemm))                                                                      \
  X(last_error, "hotgemm_last_error", decltype(hotgemm_last_error))                                                    \
  X(get_dim, "aoti_torch_get_dim", Result(Handle, std::int64_t*))                                                      \
  X(get_sizes, "aoti_torch_get_sizes", Result(Handle, std::int64_t**))                                                 \
  X(get_strides, "aoti_torch_get_strides", Result(Handle, std::int64_t**))                                             \
  X(get_dtype, "aoti_torch_get_dtype", Result(Handle, std::int32_t*))                                                  \
  X(get_device_type, "aoti_torch_get_device_type", Result(Handle, std::int32_t*))                                      \
  X(get_device_index, "aoti_torch_get_device_index", Result(Handle, std::int32_t*))                                    \
  X(get_data_ptr, "aoti_torch_get_data_ptr", Result(Handle, void**))                                                   \
  X(empty_strided, "aoti_torch_empty_strided",                                                                         \
    Result(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t, std::int32_t, Handle*)) \
  X(delete_tensor, "aoti_torch_delete_tensor_object", Result(Handle))                                                  \
  X(string_c_str, "torch_string_c_str", Result(void*, const char**))                                                   \
  X(delete_string, "torch_delete_string", Result(void*))                                                               \
  X(call_dispatcher, "torch_call_dispatcher", Result(const char*, const char*, Slot*, std::uint64_t))                  \
  X(type_cuda, "aoti_torch_device_type_cuda", std::int32_t())                                                          \
  X(type_f16, "aoti_torch_dtype_float16", std::int32_t())                                                              \
  X(type_bf16, "aoti_torch_dtype_bfloat16", std::int32_t())                                                            \
  X(type_f32, "aoti_torch_dtype_float32", std::int32_t())                                                              \
  X(new_value, "?torch_new_stable_ivalue", Result(Slot**))                                                             \
  X(delete_value, "?torch_delete_stable_ivalue", Result(Slot*))                                                        \
  X(what, "?torch_exception_get_what_without_backtrace", const char*())

// PyTorch's own kernels, and what else depends on the backend: "{}" is "cuda" or "cpu". Those of a CPU have no streams.
#define HOTGEMM_TORCH_BACKEND_FUNCTIONS(X)                                                         \
  X(mm_out, "aoti_torch_{}_mm_out", Result(Handle out, Handle a, Handle b))                        \
  X(bmm_out, "aoti_torch_{}_bmm_out", Result(Handle out, Handle a, Handle b))                      \
  X(addmm_out, "aoti_torch_{}_addmm_out",                                                          \
    Result(Handle out, Handle self, Handle a, Handle b, double beta, double alpha))                \
  X(current_stream, "?aoti_torch_get_current_{}_stream", Result(std::int32_t, void**))             \
  X(current_device, "?aoti_torch_get_current_device_index", Result(std::int32_t*))                 \
  X(create_guard, "?aoti_torch_create_{}_guard", Result(std::int32_t, struct DeviceGuardObject**)) \
  X(delete_guard, "?aoti_torch_delete_{}_guard", Result(struct DeviceGuardObject*))

#define HOTGEMM_MEMBER(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;

struct Functions {
  HOTGEMM_TORCH_FUNCTIONS(HOTGEMM_MEMBER)
};

struct Backend {
  HOTGEMM_TORCH_BACKEND_FUNCTIONS(HOTGEMM_MEMBER)
};

#undef HOTGEMM_MEMBER

/// The functions that Python has bound, before it registers the first kernel.
const Functions& shim();
/// The backend of a device's type.
const Backend& backend_of(std::int32_t device_type);
/// The release of PyTorch whose shim this adapter speaks.
constexpr std::uint64_t kShimVersion = (std::uint64_t{2} << 56) | (std::uint64_t{10} << 48);

}  // namespace hotgemm::torch
