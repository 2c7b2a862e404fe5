#include "gpu/driver.hpp"

#include "base/fork_guard.hpp"
#include "base/library_paths.hpp"
#include "gpu/shared_library.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace hotgemm {
namespace {

// The API version whose signatures match the names in cuda.h of CUDA 12.8 to 13. For 13.0, cuGetProcAddress would
// return versions of cuCtxGetDevice and cuCtxSynchronize with another argument, which cuda.h declares under other
// names.
constexpr int kApiVersion = 12080;

/// From 12.5 on, cuGetProcAddress would return cuStreamGetCtx with another argument, as cuda.h declares it under
/// another name.
int api_version_of(std::string_view name) { return name == "cuStreamGetCtx" ? 9020 : kApiVersion; }

void* resolve(const SharedLibrary& library, decltype(&::cuGetProcAddress) get_proc_address, const std::string& name) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  const int version = api_version_of(name);
  const CUresult result = get_proc_address(name.c_str(), &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
  if (result == CUDA_SUCCESS && address != nullptr) return address;
  throw Error(ErrorCode::no_driver, library.path() + " does not offer " + name + " at CUDA " +
                                        std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
                                        "; a newer driver is needed");
}

/// cuda.h maps names to versioned symbols ("cuMemAlloc" to "cuMemAlloc_v2"); cuGetProcAddress needs the plain name.
std::string base_name(std::string_view symbol) {
  const std::size_t suffix = symbol.rfind("_v");
  return std::string(symbol.substr(0, suffix));
}

// A container has the driver's library and the GPUs only if it was started with them.
constexpr const char* kInContainer = "; in a container use --gpus all\n";

SharedLibrary open_library() {
  try {
    return SharedLibrary::open(take_library_path("HOTGEMM_LIBCUDA"), {"libcuda.so.1"}, ErrorCode::no_driver);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("no NVIDIA driver") + kInContainer + error.what());
  }
}

void initialise(const Driver& driver) {
  try {
    driver.check(driver.cuInit(0), "initialise the CUDA driver " + driver.path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_device) throw;
    throw Error(error.code(), std::string("no NVIDIA GPU") + kInContainer + error.what());
  }
}

Driver load() {
  const SharedLibrary library = open_library();
  // The first version of cuGetProcAddress that returns a status.
  const auto get_proc_address = reinterpret_cast<decltype(&::cuGetProcAddress)>(library.get("cuGetProcAddress_v2"));
  Driver driver{};
#define HOTGEMM_RESOLVE(name) \
  driver.name = reinterpret_cast<decltype(driver.name)>(resolve(library, get_proc_address, base_name(#name)));
  HOTGEMM_DRIVER_FUNCTIONS(HOTGEMM_RESOLVE)
#undef HOTGEMM_RESOLVE
  driver.path = library.path();
  initialise(driver);
  watch_cuda_for_fork();
  return driver;
}

std::atomic<const Driver*> instance{nullptr};  // set once, never freed: kernels may be launched until the process ends

}  // namespace

const Driver& Driver::get() {
  if (const Driver* driver = loaded()) return *driver;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Driver* driver = loaded()) return *driver;
  const Driver* driver = new Driver(load());
  instance.store(driver, std::memory_order_release);
  return *driver;
}

const Driver* Driver::loaded() noexcept { return instance.load(std::memory_order_acquire); }

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return std::string(name != nullptr ? name : "CUDA error") + " (" + std::to_string(static_cast<int>(result)) +
         "): " + (text != nullptr ? text : "unknown");
}

void Driver::fail(CUresult result, const std::string& attempt) const {
  throw Error(error_code_of(result), attempt + ": " + describe(result));
}

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

ErrorCode error_code_of(CUresult result) {
  if (is_sticky(result)) return ErrorCode::context_lost;
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY: return ErrorCode::out_of_memory;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_INVALID_CONTEXT: return ErrorCode::no_device;
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: return ErrorCode::no_driver;
    default: return ErrorCode::driver_error;
  }
}

}  // namespace hotgemm
