#include "gpu/enqueue.hpp"

namespace hotgemm {

CUresult enqueue(const Driver& driver, CUfunction function, const KernelLaunch& launch, void** parameters,
                 CUstream stream) noexcept {
  if (!launch.programmatic) {
    return driver.cuLaunchKernel(function, launch.blocks, 1, 1, launch.threads, 1, 1, launch.smem_bytes, stream,
                                 parameters, nullptr);
  }
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config{.gridDimX = launch.blocks,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = launch.threads,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = launch.smem_bytes,
                              .hStream = stream,
                              .attrs = &attribute,
                              .numAttrs = 1};
  return driver.cuLaunchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace hotgemm
