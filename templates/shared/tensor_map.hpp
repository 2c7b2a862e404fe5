#pragma once

namespace hotgemm {

/// The description of a tensor in global memory for a bulk copy. A kernel gets it as a parameter and does not read its
/// bytes. On a GPU it is the driver's encoding (src/gpu/tensor_map.hpp); on the emulated device it is that device's
/// own.
struct alignas(128) TensorMap {
  unsigned char bytes[128] = {};
};

}  // namespace hotgemm
