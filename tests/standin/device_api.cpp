// Initialisation, errors, devices and contexts.

#include "standin/api.hpp"
#include "standin/ledger.hpp"

#include "shared/arch_limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace hotgemm::standin::api {
namespace {

constexpr std::string_view kDeviceName = "Stand-in H200";

int integer_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

#define HOTGEMM_ERROR(code, text) \
  { code, #code, text }
constexpr ErrorText kErrors[] = {
    HOTGEMM_ERROR(CUDA_SUCCESS, "no error"),
    HOTGEMM_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    HOTGEMM_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    HOTGEMM_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    HOTGEMM_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    HOTGEMM_ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    HOTGEMM_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    HOTGEMM_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    HOTGEMM_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    HOTGEMM_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    HOTGEMM_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    HOTGEMM_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    HOTGEMM_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    HOTGEMM_ERROR(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    HOTGEMM_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    HOTGEMM_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    HOTGEMM_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    HOTGEMM_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    HOTGEMM_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    HOTGEMM_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    HOTGEMM_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    HOTGEMM_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    HOTGEMM_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    HOTGEMM_ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    HOTGEMM_ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    HOTGEMM_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    HOTGEMM_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    HOTGEMM_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    HOTGEMM_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    HOTGEMM_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    HOTGEMM_ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination"),
    HOTGEMM_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    HOTGEMM_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    HOTGEMM_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    HOTGEMM_ERROR(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    HOTGEMM_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    HOTGEMM_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef HOTGEMM_ERROR

const ErrorText* find_error(CUresult code) {
  const auto* found =
      std::find_if(std::begin(kErrors), std::end(kErrors), [&](const ErrorText& error) { return error.code == code; });
  return found != std::end(kErrors) ? found : nullptr;
}

/// The answers of an H200, changed where the architecture of the stand-in differs. Other attributes are 0. Each process
/// has GPUs of its own: tests that run beside each other do not wait for each other's measurements.
int attribute_value(CUdevice_attribute attribute, int sm, CUdevice device) {
  const ArchLimits* found = find_arch_limits(sm);
  const ArchLimits limits = found != nullptr ? *found : *find_arch_limits(90);
  const std::map<CUdevice_attribute, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, sm / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, sm % 10},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, Ledger::kSmCount},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6016},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, limits.smem_per_block_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, limits.smem_per_sm_bytes},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, kReservedSmemPerBlockBytes},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, limits.registers_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, limits.threads_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
      {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, ::getpid()},
      {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device},
  };
  const auto value = values.find(attribute);
  return value != values.end() ? value->second : 0;
}

/// Runs `body` if `device` is a valid device.
template <class Body>
CUresult device_call(const char* function, CUdevice device, Body&& body) {
  return call(function, Scope::process, [&](Ledger& ledger) {
    Context* context = ledger.device_context(device);
    return context != nullptr ? body(ledger, *context) : CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult synchronize(Ledger& ledger, const Context& context) {
  if (context.lost != CUDA_SUCCESS) return context.lost;
  if (ledger.is_capturing(context.id, true)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult init(unsigned flags) {
  return call("cuInit", Scope::anything, [&](Ledger& ledger) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (ledger.initialised_by != 0)
      return ledger.initialised_by == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
    const int scripted = integer_from_environment("HOTGEMM_STANDIN_INIT", CUDA_SUCCESS);
    const int devices = integer_from_environment("HOTGEMM_STANDIN_DEVICES", 1);
    if (scripted != CUDA_SUCCESS) return static_cast<CUresult>(scripted);
    if (devices < 1) return CUDA_ERROR_NO_DEVICE;
    ledger.make_devices(devices, integer_from_environment("HOTGEMM_STANDIN_ARCH", 90));
    ledger.initialised_by = getpid();
    return CUDA_SUCCESS;
  });
}

CUresult driver_get_version(int* version) {
  return call("cuDriverGetVersion", Scope::anything, [&](Ledger&) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = 13000;
    return CUDA_SUCCESS;
  });
}

CUresult get_error_name(CUresult error, const char** text) {
  return call("cuGetErrorName", Scope::anything, [&](Ledger&) {
    const ErrorText* found = find_error(error);
    *text = found != nullptr ? found->name : nullptr;
    return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult get_error_string(CUresult error, const char** text) {
  return call("cuGetErrorString", Scope::anything, [&](Ledger&) {
    const ErrorText* found = find_error(error);
    *text = found != nullptr ? found->text : nullptr;
    return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult device_get(CUdevice* device, int ordinal) {
  return device_call("cuDeviceGet", ordinal, [&](Ledger&, Context&) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult device_get_count(int* count) {
  return call("cuDeviceGetCount", Scope::process, [&](Ledger& ledger) {
    *count = ledger.device_count();
    return CUDA_SUCCESS;
  });
}

CUresult device_get_name(char* name, int length, CUdevice device) {
  return device_call("cuDeviceGetName", device, [&](Ledger&, Context&) {
    if (name == nullptr || length < 1) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t letters = std::min(kDeviceName.size(), static_cast<std::size_t>(length - 1));
    std::memcpy(name, kDeviceName.data(), letters);
    name[letters] = '\0';
    return CUDA_SUCCESS;
  });
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return device_call("cuDeviceGetAttribute", device, [&](Ledger& ledger, Context&) {
    if (value == nullptr || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED ? ledger.script.is_shared_by_mps
                                                          : attribute_value(attribute, ledger.sm(), device);
    return CUDA_SUCCESS;
  });
}

CUresult device_total_mem(std::size_t* bytes, CUdevice device) {
  return device_call("cuDeviceTotalMem", device, [&](Ledger& ledger, Context&) {
    *bytes = ledger.total_bytes();
    return CUDA_SUCCESS;
  });
}

CUresult primary_ctx_retain(CUcontext* handle, CUdevice device) {
  return device_call("cuDevicePrimaryCtxRetain", device, [&](Ledger& ledger, Context& context) {
    ledger.retain(context);
    *handle = Ledger::handle_of(device);
    return CUDA_SUCCESS;
  });
}

CUresult primary_ctx_release(CUdevice device) {
  return device_call("cuDevicePrimaryCtxRelease", device, [&](Ledger& ledger, Context& context) {
    if (context.retained == 0) return ledger.violate(CUDA_ERROR_INVALID_CONTEXT, "primary context released too often");
    ledger.release(context);
    return CUDA_SUCCESS;
  });
}

CUresult primary_ctx_get_state(CUdevice device, unsigned* flags, int* active) {
  return device_call("cuDevicePrimaryCtxGetState", device, [&](Ledger&, Context& context) {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = 0;
    *active = context.retained > 0 && !context.was_reset;
    return CUDA_SUCCESS;
  });
}

CUresult ctx_push_current(CUcontext handle) {
  return call("cuCtxPushCurrent", Scope::process, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (const CUresult result = ledger.find_context(handle, &context)) return result;
    ThreadState& thread = thread_state();
    thread.below.push_back(thread.current);
    thread.current = handle;
    return CUDA_SUCCESS;
  });
}

CUresult ctx_pop_current(CUcontext* handle) {
  return call("cuCtxPopCurrent", Scope::process, [&](Ledger& ledger) {
    ThreadState& thread = thread_state();
    if (thread.below.empty()) return ledger.violate(CUDA_ERROR_INVALID_CONTEXT, "popped more than was pushed");
    if (handle != nullptr) *handle = thread.current;
    thread.current = thread.below.back();
    thread.below.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult ctx_get_current(CUcontext* handle) {
  return call("cuCtxGetCurrent", Scope::process, [&](Ledger&) {
    *handle = thread_state().current;
    return CUDA_SUCCESS;
  });
}

CUresult ctx_set_current(CUcontext handle) {
  return call("cuCtxSetCurrent", Scope::process, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (handle != nullptr) {
      if (const CUresult result = ledger.find_context(handle, &context)) return result;
    }
    thread_state().current = handle;
    return CUDA_SUCCESS;
  });
}

CUresult ctx_get_device(CUdevice* device) { return ctx_get_device_of(device, nullptr); }

CUresult ctx_get_device_of(CUdevice* device, CUcontext handle) {
  return call("cuCtxGetDevice", Scope::process, [&](Ledger& ledger) {
    const CUcontext asked = handle != nullptr ? handle : thread_state().current;
    if (asked == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    Context* context = nullptr;
    if (const CUresult result = ledger.find_context(asked, &context)) return result;
    *device = context->device;
    return CUDA_SUCCESS;
  });
}

CUresult ctx_get_id(CUcontext handle, unsigned long long* id) {
  return call("cuCtxGetId", Scope::process, [&](Ledger& ledger) {
    const CUcontext asked = handle != nullptr ? handle : thread_state().current;
    if (asked == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    // To ask whether the current context is alive is no misuse.
    if (handle == nullptr && !ledger.is_alive(asked)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    Context* context = nullptr;
    if (const CUresult result = ledger.find_context(asked, &context)) return result;
    *id = context->id;
    return CUDA_SUCCESS;
  });
}

CUresult ctx_synchronize() { return ctx_synchronize_one(nullptr); }

CUresult ctx_synchronize_one(CUcontext handle) {
  return call("cuCtxSynchronize", Scope::context_call, [&](Ledger& ledger) {
    Context* context = nullptr;
    const CUresult result = handle != nullptr ? ledger.find_context(handle, &context) : ledger.current(&context);
    return result == CUDA_SUCCESS ? synchronize(ledger, *context) : result;
  });
}

}  // namespace hotgemm::standin::api
