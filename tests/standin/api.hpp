#pragma once

#include <cuda.h>

#include <cstddef>

// The stand-in's functions, grouped by topic. libcuda.cpp gives them the driver's names and checks that the types
// agree.

namespace hotgemm::standin::api {

CUresult init(unsigned flags);
CUresult driver_get_version(int* version);
CUresult get_error_name(CUresult error, const char** text);
CUresult get_error_string(CUresult error, const char** text);

CUresult device_get(CUdevice* device, int ordinal);
CUresult device_get_count(int* count);
CUresult device_get_name(char* name, int length, CUdevice device);
CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult device_total_mem(std::size_t* bytes, CUdevice device);
CUresult primary_ctx_retain(CUcontext* context, CUdevice device);
CUresult primary_ctx_release(CUdevice device);
CUresult primary_ctx_get_state(CUdevice device, unsigned* flags, int* active);
CUresult ctx_get_current(CUcontext* context);
CUresult ctx_set_current(CUcontext context);
CUresult ctx_push_current(CUcontext context);
CUresult ctx_pop_current(CUcontext* context);
CUresult ctx_get_device(CUdevice* device);
CUresult ctx_get_device_of(CUdevice* device, CUcontext context);
CUresult ctx_get_id(CUcontext context, unsigned long long* id);
CUresult ctx_synchronize();
CUresult ctx_synchronize_one(CUcontext context);

CUresult module_load_data(CUmodule* module, const void* image);
CUresult module_unload(CUmodule module);
CUresult module_get_function(CUfunction* function, CUmodule module, const char* name);
CUresult func_get_attribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult func_set_attribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult occupancy_max_active_blocks(int* blocks, CUfunction function, int block_size, std::size_t smem_bytes);
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned smem_bytes, CUstream stream, void** params,
                       void** extra);
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** params, void** extra);

CUresult mem_alloc(CUdeviceptr* address, std::size_t bytes);
CUresult mem_free(CUdeviceptr address);
CUresult mem_get_info(std::size_t* free, std::size_t* total);
CUresult tensor_map_encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                 const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill);
CUresult memcpy_to_device(CUdeviceptr to, const void* from, std::size_t bytes);
CUresult memcpy_to_host(void* to, CUdeviceptr from, std::size_t bytes);
CUresult memset_d8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream);
CUresult memset_d32_async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream);
CUresult memcpy_to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
CUresult memcpy_to_device_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);

CUresult stream_create(CUstream* stream, unsigned flags);
CUresult stream_destroy(CUstream stream);
CUresult stream_synchronize(CUstream stream);
CUresult stream_is_capturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult stream_get_ctx(CUstream stream, CUcontext* context);
CUresult stream_get_ctx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green);
CUresult stream_get_id(CUstream stream, unsigned long long* id);
CUresult stream_get_capture_info(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                 const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count);
CUresult stream_begin_capture(CUstream stream, CUstreamCaptureMode mode);
CUresult stream_end_capture(CUstream stream, CUgraph* graph);
CUresult exchange_capture_mode(CUstreamCaptureMode* mode);

CUresult graph_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CUresult graph_instantiate_logged(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                                  std::size_t log_bytes);
CUresult graph_launch(CUgraphExec exec, CUstream stream);
CUresult graph_exec_destroy(CUgraphExec exec);
CUresult graph_destroy(CUgraph graph);

CUresult user_object_create(CUuserObject* object, void* value, CUhostFn destroy, unsigned references, unsigned flags);
CUresult user_object_release(CUuserObject object, unsigned references);
CUresult graph_retain_user_object(CUgraph graph, CUuserObject object, unsigned references, unsigned flags);

CUresult event_create(CUevent* event, unsigned flags);
CUresult event_destroy(CUevent event);
CUresult event_record(CUevent event, CUstream stream);
CUresult event_query(CUevent event);
CUresult event_synchronize(CUevent event);
CUresult event_elapsed_time(float* milliseconds, CUevent start, CUevent end);

}  // namespace hotgemm::standin::api
