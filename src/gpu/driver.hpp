#pragma once

#include <cuda.h>

#include <hotgemm/error.hpp>

#include <string>

// The driver API, loaded by dlopen. cuda.h provides the types; no symbol of libcuda is linked.

// The functions that hotgemm calls, by their names in cuda.h. Each is resolved through cuGetProcAddress.
// clang-format off
#define HOTGEMM_DRIVER_FUNCTIONS(F) \
  F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuGetErrorString) F(cuDeviceGet) F(cuDeviceGetCount) \
  F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDeviceTotalMem) F(cuDevicePrimaryCtxRetain) \
  F(cuDevicePrimaryCtxRelease) F(cuDevicePrimaryCtxGetState) F(cuCtxGetCurrent) F(cuCtxSetCurrent) \
  F(cuCtxPushCurrent) F(cuCtxPopCurrent) F(cuCtxGetDevice) F(cuCtxGetId) F(cuStreamGetCtx) \
  F(cuCtxSynchronize) F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuFuncGetAttribute) \
  F(cuFuncSetAttribute) F(cuLaunchKernel) F(cuLaunchKernelEx) F(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  F(cuMemAlloc) \
  F(cuMemFree) F(cuMemGetInfo) F(cuMemcpyHtoD) F(cuMemcpyDtoH) F(cuMemsetD8Async) F(cuMemsetD32Async) \
  F(cuMemcpyDtoHAsync) F(cuMemcpyHtoDAsync) F(cuStreamCreate) F(cuStreamDestroy) F(cuStreamSynchronize) \
  F(cuStreamIsCapturing) F(cuStreamBeginCapture) F(cuStreamEndCapture) F(cuThreadExchangeStreamCaptureMode) \
  F(cuGraphInstantiateWithFlags) F(cuGraphLaunch) F(cuGraphExecDestroy) F(cuGraphDestroy) F(cuEventCreate) \
  F(cuEventDestroy) F(cuEventRecord) F(cuEventSynchronize) F(cuEventElapsedTime) \
  F(cuTensorMapEncodeTiled) F(cuStreamGetId) F(cuStreamGetCaptureInfo_v3) F(cuUserObjectCreate) \
  F(cuUserObjectRelease) F(cuGraphRetainUserObject)
// clang-format on

namespace hotgemm {

/// The function table of libcuda. Immutable; usable from any thread.
struct Driver {
#define HOTGEMM_DECLARE(name) decltype(&::name) name;
  HOTGEMM_DRIVER_FUNCTIONS(HOTGEMM_DECLARE)
#undef HOTGEMM_DECLARE
  std::string path;  ///< path of the loaded library

  /// Loads libcuda (HOTGEMM_LIBCUDA, or libcuda.so.1), once per process, and calls cuInit.
  /// Throws Error{no_driver} if libcuda cannot be loaded, Error{no_device} if cuInit finds no GPU; a later call tries
  /// again.
  static const Driver& get();
  /// The table if get() has succeeded before, else nullptr. Never loads a library.
  static const Driver* loaded() noexcept;

  /// Text such as "CUDA_ERROR_INVALID_VALUE (1): invalid argument".
  std::string describe(CUresult result) const;
  /// Throws an Error unless `result` is success: context_lost for errors that affect later calls too, out_of_memory,
  /// no_device, else driver_error. The message is "`attempt`: <description>".
  void check(CUresult result, const std::string& attempt) const {
    if (result != CUDA_SUCCESS) fail(result, attempt);
  }
  [[noreturn]] void fail(CUresult result, const std::string& attempt) const;
};

/// True for errors after which no call in this context can succeed (cuda.h: "must be terminated and relaunched").
bool is_sticky(CUresult result);
ErrorCode error_code_of(CUresult result);

}  // namespace hotgemm
