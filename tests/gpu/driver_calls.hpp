#pragma once

#include "gpu/spinner.hpp"

#include "gpu/device_buffer.hpp"

#include <cstddef>
#include <functional>
#include <tuple>
#include <vector>

namespace hotgemm {

inline constexpr const char* kSmallText =
    R"(extern "C" __global__ void small(int* result) { if (result) *result = 1; })";
/// Needs 4 KiB of local memory per thread, more than the driver has set aside.
inline constexpr const char* kDeepText = R"(
extern "C" __global__ void deep(int* result) {
  volatile int stack[1024];
  for (int i = 0; i < 1024; ++i) stack[(i * 7 + threadIdx.x) % 1024] = i;
  if (result) *result = stack[threadIdx.x];
}
)";

/// A driver call between what must come before it and after it.
struct TimedCall {
  const char* name;
  std::function<void()> prepare, act, clean;
};

/// The objects that the calls make and take. `small` and `deep` are kernels of kSmallText and kDeepText, `all` and
/// `slim` a kernel of family `simt`, with all variables and without.
struct DriverObjects {
  const Driver& driver;
  const OtherDriverCalls& other;
  Cubin small, deep, all, slim;
  OwnedStream stream;
  DeviceBuffer target;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUlibrary library = nullptr;
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUstream made = nullptr;
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUcontext context = nullptr;
  std::vector<char> pageable = std::vector<char>(4096, 1);

  void check(CUresult result) const { driver.check(result, "a driver call"); }
  void load(const Cubin& cubin) { check(driver.cuModuleLoadData(&module, cubin.image.data())); }
  void find(const Cubin& cubin) { check(driver.cuModuleGetFunction(&function, module, cubin.symbol.c_str())); }
  void load_and_find(const Cubin& cubin) {
    load(cubin);
    find(cubin);
  }
  void unload() { check(driver.cuModuleUnload(module)); }
  void launch() const {
    CUdeviceptr none = 0;
    void* parameters[] = {&none};
    check(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream.get(), parameters, nullptr));
  }
  /// A graph of one memset.
  void capture() {
    check(driver.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    check(driver.cuMemsetD32Async(target.get(), 0, 1024, stream.get()));
    check(driver.cuStreamEndCapture(stream.get(), &graph));
  }
  void finish() const { stream.synchronize(); }
};

inline std::vector<TimedCall> loading_calls(DriverObjects& o) {
  const Driver& d = o.driver;
  std::vector<TimedCall> calls{
      {"cuModuleLoadData", [] {}, [&] { o.load(o.small); }, [&] { o.unload(); }},
      {"cuModuleLoadData, with variables", [] {}, [&] { o.load(o.all); }, [&] { o.unload(); }},
      {"cuModuleLoadData, without them", [] {}, [&] { o.load(o.slim); }, [&] { o.unload(); }},
      {"cuModuleUnload, with variables", [&] { o.load(o.all); }, [&] { o.unload(); }, [] {}},
      {"cuModuleGetFunction", [&] { o.load(o.small); }, [&] { o.find(o.small); }, [&] { o.unload(); }},
      {"cuFuncGetAttribute, fresh", [&] { o.load_and_find(o.small); },
       [&] {
         int bytes = 0;
         o.check(d.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, o.function));
       },
       [&] { o.unload(); }},
      {"cuFuncSetAttribute, fresh", [&] { o.load_and_find(o.small); },
       [&] { o.check(d.cuFuncSetAttribute(o.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 80 << 10)); },
       [&] { o.unload(); }},
      {"first launch", [&] { o.load_and_find(o.small); }, [&] { o.launch(); },
       [&] {
         o.finish();
         o.unload();
       }},
      {"first launch with a deep stack", [&] { o.load_and_find(o.deep); }, [&] { o.launch(); },
       [&] {
         o.finish();
         o.unload();
       }},
      {"second launch",
       [&] {
         o.load_and_find(o.small);
         o.launch();
         o.finish();
       },
       [&] { o.launch(); },
       [&] {
         o.finish();
         o.unload();
       }},
      {"cuModuleUnload, never launched", [&] { o.load_and_find(o.small); }, [&] { o.unload(); }, [] {}},
      {"cuModuleUnload, launched",
       [&] {
         o.load_and_find(o.small);
         o.launch();
         o.finish();
       },
       [&] { o.unload(); }, [] {}},
  };
  if (o.other.library_load != nullptr && o.other.library_unload != nullptr) {
    const auto load = [&] {
      o.check(o.other.library_load(&o.library, o.small.image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    };
    const auto unload = [&] { o.check(o.other.library_unload(o.library)); };
    const auto get = [&] {
      CUkernel kernel = nullptr;
      o.check(o.other.library_kernel(&kernel, o.library, o.small.symbol.c_str()));
      o.check(o.other.kernel_function(&o.function, kernel));
    };
    const auto load_and_get = [load, get] {
      load();
      get();
    };
    calls.push_back({"cuLibraryLoadData", [] {}, load, unload});
    calls.push_back({"cuKernelGetFunction", load, get, unload});
    calls.push_back({"first launch from a library", load_and_get, [&] { o.launch(); },
                     [&o, unload] {
                       o.finish();
                       unload();
                     }});
    calls.push_back({"cuLibraryUnload, never used", load, unload, [] {}});
    calls.push_back({"cuLibraryUnload, launched",
                     [&o, load_and_get] {
                       load_and_get();
                       o.launch();
                       o.finish();
                     },
                     unload, [] {}});
  }
  if (o.other.func_load != nullptr) {
    calls.push_back({"cuFuncLoad", [&] { o.load_and_find(o.small); }, [&] { o.check(o.other.func_load(o.function)); },
                     [&] { o.unload(); }});
  }
  return calls;
}

inline std::vector<TimedCall> memory_calls(DriverObjects& o) {
  const Driver& d = o.driver;
  std::vector<TimedCall> calls;
  for (const auto& [allocate, free, bytes] :
       {std::tuple("cuMemAlloc, 4 KiB", "cuMemFree, 4 KiB", std::size_t{4} << 10),
        std::tuple("cuMemAlloc, 256 MiB", "cuMemFree, 256 MiB", std::size_t{256} << 20)}) {
    const auto take = [&o, &d, bytes = bytes] { o.check(d.cuMemAlloc(&o.memory, bytes)); };
    const auto give = [&] { o.check(d.cuMemFree(o.memory)); };
    calls.push_back({allocate, [] {}, take, give});
    calls.push_back({free, take, give, [] {}});
  }
  if (o.other.alloc_async != nullptr && o.other.free_async != nullptr) {
    const auto take = [&] { o.check(o.other.alloc_async(&o.memory, std::size_t{64} << 20, o.stream.get())); };
    const auto give = [&] { o.check(o.other.free_async(o.memory, o.stream.get())); };
    calls.push_back({"cuMemAllocAsync, 64 MiB", [] {}, take,
                     [&o, give] {
                       give();
                       o.finish();
                     }});
    calls.push_back({"cuMemFreeAsync, 64 MiB", take, give, [&] { o.finish(); }});
    calls.push_back({"cuMemAllocAsync and its stream's end", [] {},
                     [&o, take] {
                       take();
                       o.finish();
                     },
                     [&o, give] {
                       give();
                       o.finish();
                     }});
    calls.push_back({"cuMemFreeAsync and its stream's end", take,
                     [&o, give] {
                       give();
                       o.finish();
                     },
                     [] {}});
    calls.push_back({"cuMemFree of cuMemAllocAsync",
                     [&o, take] {
                       take();
                       o.finish();
                     },
                     [&] { o.check(d.cuMemFree(o.memory)); }, [] {}});
  }
  const auto pin = [&] { o.check(o.other.host_alloc(&o.host, 64 << 10, 0)); };
  const auto unpin = [&] { o.check(o.other.host_free(o.host)); };
  calls.push_back({"cuMemHostAlloc, 64 KiB", [] {}, pin, unpin});
  calls.push_back({"cuMemFreeHost, 64 KiB", pin, unpin, [] {}});
  calls.push_back({"cuMemGetInfo", [] {},
                   [&] {
                     std::size_t free = 0, total = 0;
                     o.check(d.cuMemGetInfo(&free, &total));
                   },
                   [] {}});
  return calls;
}

inline std::vector<TimedCall> copy_calls(DriverObjects& o) {
  const Driver& d = o.driver;
  const auto take = [&] {
    o.check(d.cuMemAlloc(&o.memory, 4096));
    o.check(o.other.host_alloc(&o.host, 4096, 0));
  };
  const auto give = [&] {
    o.finish();
    o.check(d.cuMemFree(o.memory));
    o.check(o.other.host_free(o.host));
  };
  return {
      {"cuMemcpyHtoD, 4 KiB pageable", take, [&] { o.check(d.cuMemcpyHtoD(o.memory, o.pageable.data(), 4096)); }, give},
      {"cuMemcpyHtoDAsync, 4 KiB pageable", take,
       [&] { o.check(d.cuMemcpyHtoDAsync(o.memory, o.pageable.data(), 4096, o.stream.get())); }, give},
      {"cuMemcpyHtoDAsync, 4 KiB pinned", take,
       [&] { o.check(d.cuMemcpyHtoDAsync(o.memory, o.host, 4096, o.stream.get())); }, give},
      {"cuMemcpyDtoH, 4 KiB pageable", take, [&] { o.check(d.cuMemcpyDtoH(o.pageable.data(), o.memory, 4096)); }, give},
      {"cuMemsetD32Async", take, [&] { o.check(d.cuMemsetD32Async(o.memory, 0, 1024, o.stream.get())); }, give},
      {"cuStreamSynchronize, another stream",
       [&, take] {
         take();
         o.check(d.cuMemsetD32Async(o.memory, 0, 1024, o.stream.get()));
       },
       [&] { o.finish(); }, give},
      {"cuCtxSynchronize", take, [&] { o.check(d.cuCtxSynchronize()); }, give},
  };
}

inline std::vector<TimedCall> stream_calls(DriverObjects& o) {
  const Driver& d = o.driver;
  const auto make_stream = [&] { o.check(d.cuStreamCreate(&o.made, CU_STREAM_NON_BLOCKING)); };
  const auto end_stream = [&] { o.check(d.cuStreamDestroy(o.made)); };
  const auto make_event = [&] { o.check(d.cuEventCreate(&o.event, CU_EVENT_DEFAULT)); };
  const auto end_event = [&] { o.check(d.cuEventDestroy(o.event)); };
  const auto instantiate = [&] { o.check(d.cuGraphInstantiateWithFlags(&o.exec, o.graph, 0)); };
  const auto replay = [&] { o.check(d.cuGraphLaunch(o.exec, o.stream.get())); };
  const auto end_exec = [&] { o.check(d.cuGraphExecDestroy(o.exec)); };
  const auto end_graph = [&] {
    o.finish();
    o.check(d.cuGraphDestroy(o.graph));
  };
  const auto both = [](auto first, auto second) {
    return [first, second] {
      first();
      second();
    };
  };
  const auto take_graph = [&] { o.capture(); };
  return {
      {"cuStreamCreate", [] {}, make_stream, end_stream},
      {"cuStreamDestroy", make_stream, end_stream, [] {}},
      {"cuEventCreate", [] {}, make_event, end_event},
      {"cuEventRecord", make_event, [&] { o.check(d.cuEventRecord(o.event, o.stream.get())); }, end_event},
      {"cuEventDestroy", make_event, end_event, [] {}},
      {"capture", [] {}, take_graph, end_graph},
      {"cuGraphInstantiate", take_graph, instantiate, both(end_exec, end_graph)},
      {"cuGraphLaunch, first", both(take_graph, instantiate), replay,
       [&o, end_exec, end_graph] {
         o.finish();
         end_exec();
         end_graph();
       }},
      {"cuGraphExecDestroy", both(take_graph, instantiate), end_exec, end_graph},
  };
}

inline std::vector<TimedCall> other_calls(DriverObjects& o) {
  const Driver& d = o.driver;
  return {
      {"cuTensorMapEncodeTiled", [&] { o.check(d.cuMemAlloc(&o.memory, 1 << 20)); },
       [&] {
         CUtensorMap map;
         const cuuint64_t sizes[] = {512, 512}, strides[] = {1024};
         const cuuint32_t box[] = {64, 64}, steps[] = {1, 1};
         o.check(d.cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, reinterpret_cast<void*>(o.memory),
                                          sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                          CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
       },
       [&] { o.check(d.cuMemFree(o.memory)); }},
      {"cuDevicePrimaryCtxRetain", [] {}, [&] { o.check(d.cuDevicePrimaryCtxRetain(&o.context, 0)); },
       [&] { o.check(d.cuDevicePrimaryCtxRelease(0)); }},
      {"cuDevicePrimaryCtxRelease, not the last", [&] { o.check(d.cuDevicePrimaryCtxRetain(&o.context, 0)); },
       [&] { o.check(d.cuDevicePrimaryCtxRelease(0)); }, [] {}},
  };
}

/// All calls.
inline std::vector<TimedCall> driver_calls(DriverObjects& o) {
  std::vector<TimedCall> all;
  for (const auto& calls : {loading_calls(o), memory_calls(o), copy_calls(o), stream_calls(o), other_calls(o)}) {
    all.insert(all.end(), calls.begin(), calls.end());
  }
  return all;
}

}  // namespace hotgemm
