#pragma once

#include "config/tensor_map_spec.hpp"
#include "gpu/driver.hpp"
#include "shared/tensor_map.hpp"

namespace hotgemm {

/// The driver's encoding of `spec`, to be passed to a kernel as a parameter. It holds the address of the data, not the
/// data. Encoding does not allocate, does not wait and needs no current context.
///
/// Throws Error{invalid_argument} that names the rule which `spec` breaks, or the driver's error.
TensorMap encode_tensor_map(const Driver& driver, const TensorMapSpec& spec);

/// Encodes a spec that is known to be valid, for use in launches. Returns the driver's result.
CUresult encode_tensor_map(const Driver& driver, const TensorMapSpec& spec, TensorMap& map) noexcept;

}  // namespace hotgemm
