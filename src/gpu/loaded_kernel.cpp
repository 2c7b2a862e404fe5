#include "gpu/loaded_kernel.hpp"

#include <utility>

namespace hotgemm {
namespace {

constexpr int kDefaultSmemBytes = 48 << 10;  // shared memory that a kernel may use without an attribute

/// True if the result says that the image is at fault, not the GPU's state or its memory.
bool blames_image(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_NOT_FOUND: return true;
    default: return false;
  }
}

void check_image(const Driver& driver, CUresult result, const std::string& attempt) {
  if (blames_image(result)) throw RefusedCubin(attempt + ": " + driver.describe(result));
  driver.check(result, attempt);
}

}  // namespace

LoadedKernel::LoadedKernel(const Driver& driver, const Cubin& cubin, int smem_bytes)
    : driver_(driver), smem_bytes_(smem_bytes) {
  check_image(driver, driver.cuModuleLoadData(&module_, cubin.image.data()), "load the cubin of " + cubin.symbol);
  try {
    function_ = function(cubin.symbol.c_str());
    if (smem_bytes > kDefaultSmemBytes) {
      driver.check(driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes),
                   "reserve " + std::to_string(smem_bytes) + " bytes of shared memory for " + cubin.symbol);
    }
    int bytes = 0;  // the question makes a driver load now what it would load at the first launch
    driver.check(driver.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function_),
                 "read the local memory of " + cubin.symbol);
  } catch (...) {
    driver.cuModuleUnload(module_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() { unload(); }

void LoadedKernel::unload() noexcept {
  if (module_ != nullptr) driver_.cuModuleUnload(std::exchange(module_, nullptr));
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept
    : driver_(other.driver_),
      module_(std::exchange(other.module_, nullptr)),
      function_(other.function_),
      smem_bytes_(other.smem_bytes_) {}

CUfunction LoadedKernel::function(const char* symbol) const {
  CUfunction function = nullptr;
  check_image(driver_, driver_.cuModuleGetFunction(&function, module_, symbol), std::string("find kernel ") + symbol);
  return function;
}

}  // namespace hotgemm
