#pragma once

#include "config/tensor_map_spec.hpp"
#include "gpu/driver.hpp"
#include "shared/tensor_map.hpp"

namespace hotgemm {

/// What the driver makes of `spec`, to be handed to a kernel as a parameter. It holds the address and none of the data;
/// encoding allocates nothing, waits for nothing and needs no current context.
///
/// Throws Error{invalid_argument} that names the rule which `spec` breaks, and what the driver says otherwise.
TensorMap encode_tensor_map(const Driver& driver, const TensorMapSpec& spec);

/// The same of a spec that is known to be valid: for launches. Returns what the driver says.
CUresult encode_tensor_map(const Driver& driver, const TensorMapSpec& spec, TensorMap& map) noexcept;

}  // namespace hotgemm
