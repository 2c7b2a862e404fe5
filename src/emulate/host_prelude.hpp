#pragma once

// Definitions of CUDA C++ that C++ lacks. A host compiler or an editor includes them before a template or a rendered
// kernel. The code can then be parsed and type-checked, but not run.

#if defined(__CUDACC__)
#error "host_prelude.hpp is for host compilers; nvcc and NVRTC have all of this"
#endif

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
