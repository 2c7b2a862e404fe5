#include "gpu/loaded_kernel.hpp"

#include <utility>

namespace hotgemm {
namespace {

constexpr int kDefaultSmemBytes = 48 << 10;  // shared memory that a kernel may use without an attribute

}  // namespace

LoadedKernel::LoadedKernel(const Driver& driver, const Cubin& cubin, int smem_bytes)
    : driver_(driver), smem_bytes_(smem_bytes) {
  driver.check(driver.cuModuleLoadData(&module_, cubin.image.data()), "load the cubin of " + cubin.symbol);
  try {
    function_ = function(cubin.symbol.c_str());
    if (smem_bytes > kDefaultSmemBytes) {
      driver.check(driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes),
                   "reserve " + std::to_string(smem_bytes) + " bytes of shared memory for " + cubin.symbol);
    }
    driver.check(driver.cuFuncGetAttribute(&local_bytes_, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function_),
                 "read the local memory of " + cubin.symbol);
  } catch (...) {
    driver.cuModuleUnload(module_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  if (module_ != nullptr) driver_.cuModuleUnload(module_);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept
    : driver_(other.driver_),
      module_(std::exchange(other.module_, nullptr)),
      function_(other.function_),
      smem_bytes_(other.smem_bytes_),
      local_bytes_(other.local_bytes_) {}

CUfunction LoadedKernel::function(const char* symbol) const {
  CUfunction function = nullptr;
  driver_.check(driver_.cuModuleGetFunction(&function, module_, symbol), std::string("find kernel ") + symbol);
  return function;
}

}  // namespace hotgemm
