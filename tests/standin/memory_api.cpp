// Allocations, copies and fills.

#include "standin/api.hpp"
#include "standin/encoded_map.hpp"
#include "standin/node.hpp"

#include <cstdint>

namespace hotgemm::standin::api {
namespace {

/// 0 for types that no kernel has.
std::uint64_t bytes_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: return 4;
    default: return 0;
  }
}

std::size_t free_bytes(const Ledger& ledger, int device) {
  const std::size_t total = ledger.total_bytes(), used = ledger.memory.used_bytes(device);
  return used < total ? total - used : 0;
}

/// A synchronous copy. It runs on the legacy stream.
CUresult copy(const char* function, const CopyNode& node) {
  return call(function, Scope::context_call, [&](Ledger& ledger) { return submit(ledger, nullptr, node); });
}

CUresult operation(const char* function, CUstream stream, const Node& node) {
  return call(function, Scope::context_call, [&](Ledger& ledger) {
    return thread_state().current != nullptr ? submit(ledger, stream, node) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

/// Checks a map by the rules of cuTensorMapEncodeTiled in cuda.h, as far as elements of 1, 2 and 4 bytes need them.
bool is_good(const EncodedMap& map) {
  const std::uint64_t element_bytes = bytes_of(map.type);
  if (element_bytes == 0) return false;
  if (map.address == 0 || map.address % 16 != 0) return false;
  for (std::uint32_t i = 0; i < map.rank; ++i) {
    if (map.sizes[i] < 1 || map.sizes[i] > std::uint64_t{1} << 32 || map.box[i] < 1 || map.box[i] > 256) return false;
    if (i > 0 && (map.strides[i - 1] % 16 != 0 || map.strides[i - 1] >= std::uint64_t{1} << 40)) return false;
  }
  const std::uint64_t row_bytes = map.box[0] * element_bytes;
  switch (map.swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B: return row_bytes % 16 == 0 && row_bytes <= 32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return row_bytes % 16 == 0 && row_bytes <= 64;
    case CU_TENSOR_MAP_SWIZZLE_128B: return row_bytes % 16 == 0 && row_bytes <= 128;
    default: return row_bytes % 16 == 0;
  }
}

}  // namespace

CUresult mem_alloc(CUdeviceptr* address, std::size_t bytes) {
  return call("cuMemAlloc", Scope::context_call, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (const CUresult result = ledger.current(&context)) return result;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = ledger.unsafe_call()) return result;
    if (bytes > free_bytes(ledger, context->device)) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto memory = ledger.memory.allocate(context->id, context->device, bytes);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = *memory;
    return CUDA_SUCCESS;
  });
}

CUresult mem_free(CUdeviceptr address) {
  const auto body = [&](Ledger& ledger) {
    if (address == 0) return CUDA_SUCCESS;
    Context* context = nullptr;
    if (const CUresult result = ledger.current(&context)) return result;
    if (const CUresult result = ledger.unsafe_call()) return result;
    const auto owner = ledger.memory.context_of(address);
    if (owner && *owner != context->id) {
      return ledger.violate(CUDA_ERROR_INVALID_VALUE, "cuMemFree of an allocation of another context");
    }
    const DeviceMemory::FreeResult result = ledger.memory.free(address);
    ledger.forget_workspaces();
    switch (result) {
      case DeviceMemory::FreeResult::not_alive:
        return ledger.violate(CUDA_ERROR_INVALID_VALUE, "cuMemFree of an address that is not a live allocation");
      case DeviceMemory::FreeResult::guard_damaged:
        return ledger.violate(CUDA_SUCCESS, "an allocation was written to beyond its ends");
      case DeviceMemory::FreeResult::good: break;
    }
    return CUDA_SUCCESS;
  };
  return call("cuMemFree", Scope::context_call, body, [&](Ledger& ledger) { ledger.memory.free(address); });
}

CUresult tensor_map_encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                 const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion /*promotion*/,
                                 CUtensorMapFloatOOBfill fill) {
  return call("cuTensorMapEncodeTiled", Scope::process, [&](Ledger&) {
    if (map == nullptr || rank < 1 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return CUDA_ERROR_INVALID_VALUE;
    EncodedMap encoded{
        .address = reinterpret_cast<std::uintptr_t>(address), .rank = rank, .type = type, .swizzle = swizzle};
    for (cuuint32_t i = 0; i < rank; ++i) {
      encoded.sizes[i] = sizes[i];
      encoded.box[i] = box[i];
      if (i > 0) encoded.strides[i - 1] = strides[i - 1];
      if (element_strides[i] != 1) return CUDA_ERROR_INVALID_VALUE;
    }
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || !is_good(encoded)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    write(encoded, map);
    return CUDA_SUCCESS;
  });
}

CUresult mem_get_info(std::size_t* free, std::size_t* total) {
  return call("cuMemGetInfo", Scope::context_call, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (const CUresult result = ledger.current(&context)) return result;
    *free = free_bytes(ledger, context->device);
    *total = ledger.total_bytes();
    return CUDA_SUCCESS;
  });
}

CUresult memcpy_to_device(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy("cuMemcpyHtoD", {to, const_cast<void*>(from), bytes, true});
}

CUresult memcpy_to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy("cuMemcpyDtoH", {from, to, bytes, false});
}

CUresult memset_d8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return operation("cuMemsetD8Async", stream, MemsetNode{to, value, 1, count});
}

CUresult memset_d32_async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return operation("cuMemsetD32Async", stream, MemsetNode{to, value, 4, count});
}

CUresult memcpy_to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return operation("cuMemcpyDtoHAsync", stream, CopyNode{from, to, bytes, false});
}

CUresult memcpy_to_device_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return operation("cuMemcpyHtoDAsync", stream, CopyNode{to, const_cast<void*>(from), bytes, true});
}

}  // namespace hotgemm::standin::api
