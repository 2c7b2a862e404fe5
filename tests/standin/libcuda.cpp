// A libcuda.so for tests: the driver's functions over host memory, with a ledger of handles, a capture state machine,
// scripted failures, and kernels that are recognised by name and computed on the CPU. Its results, in particular in and
// beside captures, are those of a CUDA 13 driver on an H200.

#include "standin/api.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace hotgemm::standin {
namespace {

struct Entry {
  std::string_view name;  // without the version suffix
  int since;              // the CUDA version from which on this signature is returned
  void* address;
};

// The cast checks that the stand-in's function has the type that cuda.h declares.
#define HOTGEMM_ENTRY(name, since, declaration, function) \
  Entry { name, since, reinterpret_cast<void*>(static_cast<decltype(&::declaration)>(&api::function)) }

// If a name is listed twice, the later version follows the earlier one: cuGetProcAddress returns the newest signature
// that the caller's version knows, whatever name the caller's header uses.
const auto& entries() {
  static const std::array table = {
      HOTGEMM_ENTRY("cuInit", 2000, cuInit, init),
      HOTGEMM_ENTRY("cuDriverGetVersion", 2020, cuDriverGetVersion, driver_get_version),
      HOTGEMM_ENTRY("cuGetErrorName", 6000, cuGetErrorName, get_error_name),
      HOTGEMM_ENTRY("cuGetErrorString", 6000, cuGetErrorString, get_error_string),
      HOTGEMM_ENTRY("cuDeviceGet", 2000, cuDeviceGet, device_get),
      HOTGEMM_ENTRY("cuDeviceGetCount", 2000, cuDeviceGetCount, device_get_count),
      HOTGEMM_ENTRY("cuDeviceGetName", 2000, cuDeviceGetName, device_get_name),
      HOTGEMM_ENTRY("cuDeviceGetAttribute", 2000, cuDeviceGetAttribute, device_get_attribute),
      HOTGEMM_ENTRY("cuDeviceTotalMem", 3020, cuDeviceTotalMem, device_total_mem),
      HOTGEMM_ENTRY("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain, primary_ctx_retain),
      HOTGEMM_ENTRY("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease, primary_ctx_release),
      HOTGEMM_ENTRY("cuDevicePrimaryCtxGetState", 7000, cuDevicePrimaryCtxGetState, primary_ctx_get_state),
      HOTGEMM_ENTRY("cuCtxGetCurrent", 4000, cuCtxGetCurrent, ctx_get_current),
      HOTGEMM_ENTRY("cuCtxSetCurrent", 4000, cuCtxSetCurrent, ctx_set_current),
      HOTGEMM_ENTRY("cuCtxPushCurrent", 4000, cuCtxPushCurrent, ctx_push_current),
      HOTGEMM_ENTRY("cuCtxPopCurrent", 4000, cuCtxPopCurrent, ctx_pop_current),
      HOTGEMM_ENTRY("cuCtxGetDevice", 2000, cuCtxGetDevice, ctx_get_device),
      HOTGEMM_ENTRY("cuCtxGetDevice", 13000, cuCtxGetDevice_v2, ctx_get_device_of),
      HOTGEMM_ENTRY("cuCtxGetId", 12000, cuCtxGetId, ctx_get_id),
      HOTGEMM_ENTRY("cuCtxSynchronize", 2000, cuCtxSynchronize, ctx_synchronize),
      HOTGEMM_ENTRY("cuCtxSynchronize", 13000, cuCtxSynchronize_v2, ctx_synchronize_one),
      HOTGEMM_ENTRY("cuModuleLoadData", 2000, cuModuleLoadData, module_load_data),
      HOTGEMM_ENTRY("cuModuleUnload", 2000, cuModuleUnload, module_unload),
      HOTGEMM_ENTRY("cuModuleGetFunction", 2000, cuModuleGetFunction, module_get_function),
      HOTGEMM_ENTRY("cuFuncGetAttribute", 2020, cuFuncGetAttribute, func_get_attribute),
      HOTGEMM_ENTRY("cuFuncSetAttribute", 9000, cuFuncSetAttribute, func_set_attribute),
      HOTGEMM_ENTRY("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                    occupancy_max_active_blocks),
      HOTGEMM_ENTRY("cuLaunchKernel", 4000, cuLaunchKernel, launch_kernel),
      HOTGEMM_ENTRY("cuLaunchKernelEx", 11060, cuLaunchKernelEx, launch_kernel_ex),
      HOTGEMM_ENTRY("cuMemAlloc", 3020, cuMemAlloc, mem_alloc),
      HOTGEMM_ENTRY("cuMemFree", 3020, cuMemFree, mem_free),
      HOTGEMM_ENTRY("cuMemGetInfo", 3020, cuMemGetInfo, mem_get_info),
      HOTGEMM_ENTRY("cuMemcpyHtoD", 3020, cuMemcpyHtoD, memcpy_to_device),
      HOTGEMM_ENTRY("cuMemcpyDtoH", 3020, cuMemcpyDtoH, memcpy_to_host),
      HOTGEMM_ENTRY("cuMemsetD8Async", 3020, cuMemsetD8Async, memset_d8_async),
      HOTGEMM_ENTRY("cuMemsetD32Async", 3020, cuMemsetD32Async, memset_d32_async),
      HOTGEMM_ENTRY("cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync, memcpy_to_host_async),
      HOTGEMM_ENTRY("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync, memcpy_to_device_async),
      HOTGEMM_ENTRY("cuStreamCreate", 2000, cuStreamCreate, stream_create),
      HOTGEMM_ENTRY("cuStreamDestroy", 4000, cuStreamDestroy, stream_destroy),
      HOTGEMM_ENTRY("cuStreamSynchronize", 2000, cuStreamSynchronize, stream_synchronize),
      HOTGEMM_ENTRY("cuStreamIsCapturing", 10000, cuStreamIsCapturing, stream_is_capturing),
      HOTGEMM_ENTRY("cuStreamGetCtx", 9020, cuStreamGetCtx, stream_get_ctx),
      HOTGEMM_ENTRY("cuStreamGetCtx", 12050, cuStreamGetCtx_v2, stream_get_ctx_v2),
      HOTGEMM_ENTRY("cuStreamGetId", 12000, cuStreamGetId, stream_get_id),
      HOTGEMM_ENTRY("cuStreamGetCaptureInfo", 12030, cuStreamGetCaptureInfo_v3, stream_get_capture_info),
      HOTGEMM_ENTRY("cuStreamBeginCapture", 10010, cuStreamBeginCapture, stream_begin_capture),
      HOTGEMM_ENTRY("cuStreamEndCapture", 10000, cuStreamEndCapture, stream_end_capture),
      HOTGEMM_ENTRY("cuThreadExchangeStreamCaptureMode", 10010, cuThreadExchangeStreamCaptureMode,
                    exchange_capture_mode),
      // cuda.h does not declare this function under this name; it uses the name for the successor below.
      Entry{"cuGraphInstantiate", 11000, reinterpret_cast<void*>(&api::graph_instantiate_logged)},
      HOTGEMM_ENTRY("cuGraphInstantiateWithFlags", 11040, cuGraphInstantiateWithFlags, graph_instantiate),
      HOTGEMM_ENTRY("cuGraphLaunch", 10000, cuGraphLaunch, graph_launch),
      HOTGEMM_ENTRY("cuGraphExecDestroy", 10000, cuGraphExecDestroy, graph_exec_destroy),
      HOTGEMM_ENTRY("cuGraphDestroy", 10000, cuGraphDestroy, graph_destroy),
      HOTGEMM_ENTRY("cuUserObjectCreate", 11030, cuUserObjectCreate, user_object_create),
      HOTGEMM_ENTRY("cuUserObjectRelease", 11030, cuUserObjectRelease, user_object_release),
      HOTGEMM_ENTRY("cuGraphRetainUserObject", 11030, cuGraphRetainUserObject, graph_retain_user_object),
      HOTGEMM_ENTRY("cuEventCreate", 2000, cuEventCreate, event_create),
      HOTGEMM_ENTRY("cuEventDestroy", 4000, cuEventDestroy, event_destroy),
      HOTGEMM_ENTRY("cuEventRecord", 2000, cuEventRecord, event_record),
      HOTGEMM_ENTRY("cuEventQuery", 2000, cuEventQuery, event_query),
      HOTGEMM_ENTRY("cuEventSynchronize", 2000, cuEventSynchronize, event_synchronize),
      HOTGEMM_ENTRY("cuEventElapsedTime", 2000, cuEventElapsedTime, event_elapsed_time),
      HOTGEMM_ENTRY("cuTensorMapEncodeTiled", 12000, cuTensorMapEncodeTiled, tensor_map_encode_tiled),
  };
  return table;
}

#undef HOTGEMM_ENTRY

}  // namespace
}  // namespace hotgemm::standin

#undef cuGetProcAddress
extern "C" CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t /*flags*/,
                                        CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *address = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const auto& entry : hotgemm::standin::entries()) {
    if (entry.name != symbol) continue;
    if (entry.since <= version) {
      *address = entry.address;
      found = CU_GET_PROC_ADDRESS_SUCCESS;
    } else if (*address == nullptr) {
      found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
  }
  if (status != nullptr) *status = found;
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
