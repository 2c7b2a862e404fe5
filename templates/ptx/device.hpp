#pragma once

// Definitions for all instruction headers: how a device function is declared, and how PTX is written. A function whose
// registers are to be allotted apart from its caller's is HOTGEMM_DEVICE_NOINLINE.
//
// When compiled for a GPU, HOTGEMM_PTX is inline assembly. When compiled for the host (an editor, a test that
// instantiates the templates), HOTGEMM_PTX is empty: the code can be parsed and type-checked, but not run.

#if defined(__CUDACC__)
#define HOTGEMM_DEVICE __device__ __forceinline__
#define HOTGEMM_DEVICE_NOINLINE inline __device__ __noinline__
#define HOTGEMM_PTX(...) asm volatile(__VA_ARGS__)
#define HOTGEMM_PTX_PURE(...) asm(__VA_ARGS__)
#else
#define HOTGEMM_DEVICE inline
#define HOTGEMM_DEVICE_NOINLINE inline
#define HOTGEMM_PTX(...) static_cast<void>(0)
#define HOTGEMM_PTX_PURE(...) static_cast<void>(0)
#endif

namespace hotgemm {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

}  // namespace hotgemm
