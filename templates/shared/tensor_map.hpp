#pragma once

namespace hotgemm {

/// What a bulk copy by tensor is told about a tensor in global memory. A kernel has it as a parameter and does not look
/// into it: to a GPU it is what the driver encodes (src/gpu/tensor_map.hpp), to the emulated device what that does.
struct alignas(128) TensorMap {
  unsigned char bytes[128] = {};
};

}  // namespace hotgemm
