#pragma once

// The twin of templates/ptx/device.hpp for kernels that run on the emulated device.

#define HOTGEMM_DEVICE inline
#define HOTGEMM_DEVICE_NOINLINE inline

namespace hotgemm {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

}  // namespace hotgemm
